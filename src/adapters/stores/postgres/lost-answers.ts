import type { AccountEvent } from '../../../domain/events.ts'
import type { UserId } from '../../../domain/ids.ts'
import { AnswerLost, type Steps } from './connection/connection.ts'

// It writes, too, so that its COMMIT waits for the standby. After a crash, the server shows writes that no standby has.
const findEvents = `
  WITH mark AS (
    INSERT INTO @meta (name, value) VALUES ('ping', now()::text) ON CONFLICT (name) DO UPDATE SET value = excluded.value
  )
  SELECT 1 FROM @outbox WHERE user_id = $1 AND event_id = ANY($2::text[]) AND dead_at IS NULL LIMIT 1`

/**
 * Runs a write of a user and its events. If its answer is lost, one of these events in the outbox proves the write. Then the
 * result is `done`.
 */
export async function unlessLost<T, Done>(
  { one }: Steps,
  { id, events, done }: { readonly id: UserId; readonly events: readonly AccountEvent[]; readonly done: Done },
  write: () => Promise<T>,
): Promise<T | Done> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof AnswerLost)) throw error
    const found = await one(findEvents, [id, events.map((event) => event.id)])
    if (found === undefined) throw error
    return done
  }
}
