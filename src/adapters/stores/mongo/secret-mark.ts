import { Unavailable } from '../../../domain/refusal.ts'
import type { Connection } from './connection.ts'
import { latest } from './connection.ts'

/** The unique `_id` decides who is first. */
export async function checkSecret(
  { meta, run, isDuplicate }: Connection,
  mark: string,
): Promise<'first' | 'same' | 'other'> {
  return run(async () => {
    try {
      await meta.insertOne({ _id: 'secret', mark })
      return 'first'
    } catch (error) {
      if (!isDuplicate(error)) throw error
    }
    const kept = await meta.findOne({ _id: 'secret' }, latest)
    if (kept === null) throw new Unavailable('the mark of the secret was removed while it was read')
    return kept.mark === mark ? 'same' : 'other'
  })
}
