import { Unavailable } from '../../../domain/refusal.ts'

/** Two upserts of one `_id` at once may both try to insert: the second is repeated, and finds the first's. */
export async function upserted(isDuplicate: (error: unknown) => boolean, write: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; attempt < 4; attempt++) {
    try {
      await write()
      return
    } catch (error) {
      if (!isDuplicate(error)) throw error
    }
  }
  throw new Unavailable('a record comes and goes faster than we can write it')
}
