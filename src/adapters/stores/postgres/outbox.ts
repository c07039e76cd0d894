import {
  type DeliveryKey,
  fullSinkSeconds,
  maxWaitingDeliveries,
  type Outbox,
  type SinkName,
} from '../../../application/ports/stores/outbox.ts'
import { tenantRecordId, type UserId } from '../../../domain/ids.ts'
import type { Connection, Queries } from './connection/connection.ts'
import { postgresDeliveries } from './deliveries.ts'
import { appended, eventOf, eventValues, roomValues, waitingOf } from './waiting-events.ts'

interface Waiting {
  readonly user_id: UserId
  readonly event_id: string
  readonly payload: string
  readonly due_at: Date
}

interface Added extends Waiting {
  readonly sink: SinkName
}

type InQueue = Pick<Added, 'user_id' | 'sink'>

interface ListedRow {
  readonly seq: number
  readonly sink: SinkName
  readonly payload: string
  readonly attempts: number
  readonly reason: string | null
  readonly dead_at: Date | null
}

const lockTenantQueue = `
  INSERT INTO @outbox_queues AS known (user_id, sink, ready_at) VALUES ($1, '', $2)
  ON CONFLICT (user_id, sink) DO UPDATE SET ready_at = known.ready_at`
const appendToTenant = `
  WITH tenant AS (SELECT $1::text AS id WHERE $5::boolean OR ${waitingOf('$1::text')} <= $6), ${appended('tenant', 2)}
  SELECT id FROM tenant`
const dueUsers = `
  SELECT user_id FROM @outbox_queues WHERE sink = '' AND ready_at <= $1
  ORDER BY ready_at LIMIT $2 FOR UPDATE SKIP LOCKED`
const undistributed = `
  SELECT user_id, event_id, payload, due_at FROM @outbox
  WHERE user_id = ANY($1) AND sink = '' AND dead_at IS NULL ORDER BY seq`
const fullSinks = `
  SELECT user_id, sink FROM @outbox WHERE user_id = ANY($1) AND sink <> '' AND dead_at IS NULL
  GROUP BY user_id, sink HAVING count(*) >= ${maxWaitingDeliveries}`
const postponeUsers = `UPDATE @outbox_queues SET ready_at = $2 WHERE user_id = ANY($1) AND sink = ''`
// A sink gets no event that waits there already or is a dead letter.
const addDeliveries = `
  WITH added AS (
    INSERT INTO @outbox (user_id, sink, event_id, payload, due_at)
    SELECT user_id, sink, event_id, payload, due_at
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
      WITH ORDINALITY AS given (user_id, sink, event_id, payload, due_at, place) ORDER BY place
    ON CONFLICT DO NOTHING RETURNING user_id, sink, due_at
  )
  INSERT INTO @outbox_queues AS known (user_id, sink, ready_at)
  SELECT user_id, sink, min(due_at) FROM added GROUP BY user_id, sink ORDER BY user_id, sink
  ON CONFLICT (user_id, sink) DO UPDATE SET ready_at = known.ready_at`
const removeDistributed = `
  WITH events AS (DELETE FROM @outbox WHERE user_id = ANY($1) AND sink = '' AND dead_at IS NULL)
  DELETE FROM @outbox_queues WHERE user_id = ANY($1) AND sink = ''`
const readyAt = `
  SELECT min(ready_at) AS at FROM unnest($1::text[]) AS wanted (sink), LATERAL (
    SELECT ready_at FROM @outbox_queues AS queue WHERE queue.sink = wanted.sink ORDER BY ready_at LIMIT 1
  ) AS first`
const keys = '($1::text[], $2::text[]) AS given (event_id, sink)'
const isGiven = 'stored.event_id = given.event_id AND stored.sink = given.sink'
const queuesOfGiven = `
  SELECT 1 FROM @outbox_queues AS queue JOIN @outbox AS stored USING (user_id, sink), unnest${keys}
  WHERE ${isGiven} ORDER BY queue.user_id, queue.sink FOR UPDATE OF queue`
const revive = `
  UPDATE @outbox AS stored SET dead_at = NULL, reason = NULL, attempts = 0, due_at = $3
  FROM unnest${keys} WHERE ${isGiven} AND dead_at IS NOT NULL RETURNING user_id, stored.sink`
const discard = `
  DELETE FROM @outbox AS stored USING unnest${keys}
  WHERE ${isGiven} AND (stored.sink <> '' OR dead_at IS NOT NULL) RETURNING user_id, stored.sink`
// The rows are locked first, so that the next statement sees each delivery that was added to these queues.
const lockQueues = `
  SELECT 1 FROM @outbox_queues AS queue JOIN unnest($1::text[], $2::text[]) AS given (user_id, sink) USING (user_id, sink)
  ORDER BY user_id, sink FOR UPDATE OF queue`
const removeEmptyQueues = `
  DELETE FROM @outbox_queues AS queue USING unnest($1::text[], $2::text[]) AS given (user_id, sink)
  WHERE queue.user_id = given.user_id AND queue.sink = given.sink AND NOT EXISTS (
    SELECT 1 FROM @outbox AS waiting
    WHERE waiting.user_id = queue.user_id AND waiting.sink = queue.sink AND dead_at IS NULL
  )`
// Steps from one sink to the next, so the cost depends on the number of sinks, not of deliveries.
const countBySink = `
  WITH RECURSIVE found (sink) AS (
    SELECT min(sink) FROM @outbox_queues WHERE sink > ''
    UNION ALL
    SELECT (SELECT min(queue.sink) FROM @outbox_queues AS queue WHERE queue.sink > found.sink) FROM found
    WHERE found.sink IS NOT NULL
  )
  SELECT sink, (
    SELECT count(*) FROM (
      SELECT 1 FROM @outbox_queues AS queue JOIN @outbox USING (user_id, sink)
      WHERE sink = found.sink AND dead_at IS NULL LIMIT $1
    ) AS waiting
  ) AS waiting FROM found WHERE sink IS NOT NULL`
const enqueueUnlessLeased = `
  INSERT INTO @outbox_queues AS known (user_id, sink, ready_at)
  SELECT DISTINCT ON (user_id, sink) user_id, sink, due_at FROM @outbox
  JOIN unnest($1::text[], $2::text[]) AS given (user_id, sink) USING (user_id, sink)
  WHERE dead_at IS NULL ORDER BY user_id, sink, seq
  ON CONFLICT (user_id, sink) DO UPDATE
  SET ready_at = CASE WHEN known.lease_id IS NULL THEN excluded.ready_at ELSE known.ready_at END`

/** Each change of a queue locks its row first, and reads its deliveries in a later statement. */
export function postgresOutbox(connection: Connection): Outbox {
  const { all, one, transaction, sweep, now } = connection

  async function distributeDue(
    { all, change }: Queries,
    at: Date,
    limit: number,
    sinksOf: Parameters<Outbox['distribute']>[2],
  ) {
    const due = (await all<{ user_id: UserId }>(dueUsers, [at, limit])).map(({ user_id }) => user_id)
    if (due.length === 0) return 0
    const added = (await all<Waiting>(undistributed, [due])).flatMap((waiting): Added[] =>
      (sinksOf[eventOf(waiting.payload).type] ?? []).map((sink) => ({ ...waiting, sink })),
    )
    const full = await all<InQueue>(fullSinks, [due])
    const later = new Set(
      full
        .filter((one) => added.some((add) => add.user_id === one.user_id && add.sink === one.sink))
        .map((one) => one.user_id),
    )
    const until = new Date(at.getTime() + fullSinkSeconds * 1000)
    if (later.size > 0) await change(postponeUsers, [[...later], until])
    const now = added.filter(({ user_id }) => !later.has(user_id))
    if (now.length > 0) {
      const columns = ['user_id', 'sink', 'event_id', 'payload', 'due_at'] as const
      await change(
        addDeliveries,
        columns.map((name) => now.map((one) => one[name])),
      )
    }
    await change(removeDistributed, [due.filter((id) => !later.has(id))])
    return due.length
  }

  return {
    ...postgresDeliveries(connection),

    append: (events) =>
      transaction(async ({ one, change }) => {
        await change(lockTenantQueue, [tenantRecordId, now()])
        const values = [tenantRecordId, ...eventValues(events, now()), ...roomValues(events)]
        return (await one(appendToTenant, values)) === undefined ? 'full' : 'stored'
      }),

    distribute: (at, limit, sinksOf) => transaction((queries) => distributeDue(queries, at, limit, sinksOf)),

    async nextDue(sinks) {
      return (await one<{ at: Date | null }>(readyAt, [['', ...sinks]]))?.at ?? null
    },

    async list(state, limit, after) {
      const listed = `
        SELECT seq, sink, payload, attempts, reason, dead_at FROM @outbox
        WHERE seq > $1 AND dead_at IS ${state === 'dead' ? 'NOT NULL' : 'NULL'} ORDER BY seq LIMIT $2`
      const rows = await all<ListedRow>(listed, [after ?? 0, limit])
      const items = rows.map(({ sink, payload, attempts, reason, dead_at }) => {
        return { sink: sink === '' ? null : sink, event: eventOf(payload), attempts, reason, diedAt: dead_at }
      })
      return { items, next: rows.length === limit ? String(rows.at(-1)?.seq) : null }
    },

    async count(state, limit) {
      const counted = `
        SELECT count(*) AS found
        FROM (SELECT 1 FROM @outbox WHERE dead_at IS ${state === 'dead' ? 'NOT NULL' : 'NULL'} LIMIT $1) AS found`
      return (await one<{ found: number }>(counted, [limit]))?.found ?? 0
    },

    async countBySink(limit) {
      const rows = await all<{ sink: SinkName; waiting: number }>(countBySink, [limit])
      return new Map(rows.map(({ sink, waiting }) => [sink, waiting]))
    },

    revive: (letters, at) =>
      transaction(async ({ all, change }) => {
        const revived = await all<InQueue>(revive, [...columnsOf(letters), at])
        await all(lockQueues, queuesOf(revived))
        await change(enqueueUnlessLeased, queuesOf(revived))
        return revived.length
      }),

    discard: (deliveries) =>
      transaction(async ({ all, change }) => {
        await all(queuesOfGiven, columnsOf(deliveries))
        const discarded = await all<InQueue>(discard, columnsOf(deliveries))
        // Also those whose deliveries were revived or distributed meanwhile.
        await all(lockQueues, queuesOf(discarded))
        await change(removeEmptyQueues, queuesOf(discarded))
        return discarded.length
      }),

    sweepDead: (diedBefore, limit) =>
      sweep('outbox', 'seq', { where: 'dead_at < $1', order: 'dead_at' }, diedBefore, limit),
  }
}

const columnsOf = (deliveries: readonly DeliveryKey[]) => [
  deliveries.map(({ eventId }) => eventId),
  deliveries.map(({ sink }) => sink ?? ''),
]

const queuesOf = (rows: readonly InQueue[]) => [rows.map(({ user_id }) => user_id), rows.map(({ sink }) => sink)]
