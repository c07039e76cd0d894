import { Unavailable } from '../../domain/refusal.ts'
import { inTime } from '../../lib/timers.ts'

/** Throws `Unavailable` after the deadline. The next call waits for the same preparation, because it still runs. */
export function answering(late: string, prepare: () => Promise<void>, deadlineMs: number): () => Promise<void> {
  let preparing: Promise<void> | null = null
  return async () => {
    preparing ??= prepare().finally(() => {
      preparing = null
    })
    preparing.catch(() => undefined) // if nobody waits any more, the next call reports the fault
    if ((await inTime(preparing, deadlineMs)) === 'late') throw new Unavailable(late)
  }
}
