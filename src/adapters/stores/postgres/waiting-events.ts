import { type AccountEvent, haveRoom, maxWaitingEvents } from '../../../domain/events.ts'

/** The number of events of a user that wait for their distribution. */
export const waitingOf = (id: string): string =>
  `(SELECT count(*) FROM @outbox WHERE user_id = (${id})::text AND sink = '' AND dead_at IS NULL)`

/**
 * The last parts of a WITH that append events to the outboxes of the users whose `id` the part `source` returns, in their order.
 * The queue's row is locked, even if it exists: a distribution that has read the queue may be about to remove it.
 *
 * @param first the number of the first of three parameters (`eventValues`)
 */
export function appended(source: string, first: number): string {
  const dues = `$${first + 2}::timestamptz[]`
  return `waiting AS (
    INSERT INTO @outbox (user_id, event_id, payload, due_at)
    SELECT id::text, event_id, payload, due_at
    FROM ${source}, unnest($${first}::text[], $${first + 1}::text[], ${dues}) WITH ORDINALITY AS added (event_id, payload, due_at, place)
    ORDER BY place
  ), queue AS (
    INSERT INTO @outbox_queues AS known (user_id, sink, ready_at)
    SELECT id::text, '', min(due_at) FROM ${source}, unnest(${dues}) AS added (due_at) GROUP BY id
    ON CONFLICT (user_id, sink) DO UPDATE SET ready_at = known.ready_at
  )`
}

/** The events are due at once, also by the clock of a process that is behind. */
export function eventValues(events: readonly AccountEvent[], now: Date): readonly unknown[] {
  return [
    events.map(({ id }) => id),
    events.map((event) => JSON.stringify(event)),
    events.map(({ at }) => (at < now ? at : now)),
  ]
}

/** Whether any number may wait, and the number that may wait before these events. */
export function roomValues(events: readonly AccountEvent[]): readonly unknown[] {
  return [haveRoom(events, maxWaitingEvents), maxWaitingEvents - events.length]
}

export function eventOf(payload: string): AccountEvent {
  const { at, ...rest } = JSON.parse(payload)
  return { ...rest, at: new Date(at) }
}
