import type { LeasedEvent, Outbox } from '../../../application/ports/stores/outbox.ts'
import type { UserId } from '../../../domain/ids.ts'
import type { Connection } from './connection/connection.ts'
import { eventOf } from './waiting-events.ts'

type Leases = Pick<Outbox, 'lease' | 'renew' | 'settle' | 'postpone' | 'bury' | 'release'>

const dueQueues = `
  SELECT user_id FROM @outbox_queues WHERE sink = $1 AND ready_at <= $2
  ORDER BY ready_at LIMIT $3 FOR UPDATE SKIP LOCKED`
const takeFirst = `
  WITH taken AS (
    UPDATE @outbox_queues SET lease_id = gen_random_uuid()::text, ready_at = $3
    WHERE sink = $1 AND user_id = ANY($2) RETURNING user_id, lease_id
  )
  UPDATE @outbox AS delivery SET attempts = attempts + 1
  FROM taken, LATERAL (
    SELECT seq FROM @outbox AS waiting
    WHERE waiting.user_id = taken.user_id AND sink = $1 AND dead_at IS NULL ORDER BY seq LIMIT 1
  ) AS first
  WHERE delivery.seq = first.seq
  RETURNING delivery.user_id, lease_id, payload, attempts`
const leased = `
  SELECT seq FROM @outbox_queues AS queue JOIN @outbox AS delivery USING (user_id, sink)
  WHERE user_id = $1 AND sink = $2 AND lease_id = $3 AND event_id = $4 AND dead_at IS NULL
  FOR UPDATE OF queue`
const endLease = `
  WITH first AS (
    SELECT due_at FROM @outbox WHERE user_id = $1 AND sink = $2 AND dead_at IS NULL ORDER BY seq LIMIT 1
  ), kept AS (
    UPDATE @outbox_queues SET lease_id = NULL, ready_at = due_at FROM first WHERE user_id = $1 AND sink = $2
  )
  DELETE FROM @outbox_queues WHERE user_id = $1 AND sink = $2 AND NOT EXISTS (SELECT 1 FROM first)`

export function postgresDeliveries({ change, transaction }: Connection): Leases {
  /** Changes the leased delivery (`$1`) if the lease is still valid, and ends the lease. */
  function whereLeased({ userId, sink, leaseId, event }: LeasedEvent, act: string, values: readonly unknown[] = []) {
    return transaction(async ({ one, change }) => {
      const row = await one<{ seq: number }>(leased, [userId, sink, leaseId, event.id])
      if (row === undefined) return false
      await change(act, [row.seq, ...values])
      await change(endLease, [userId, sink])
      return true
    })
  }

  return {
    lease: (sink, now, limit, leaseSeconds) =>
      transaction(async ({ all }) => {
        const due = (await all<{ user_id: UserId }>(dueQueues, [sink, now, limit])).map(({ user_id }) => user_id)
        if (due.length === 0) return []
        const until = new Date(now.getTime() + leaseSeconds * 1000)
        const rows = await all<{ user_id: UserId; lease_id: string; payload: string; attempts: number }>(takeFirst, [
          sink,
          due,
          until,
        ])
        return rows.map((row) => {
          return {
            sink,
            userId: row.user_id,
            leaseId: row.lease_id,
            event: eventOf(row.payload),
            attempts: row.attempts,
          }
        })
      }),

    async renew({ userId, sink, leaseId }, until) {
      const renew = 'UPDATE @outbox_queues SET ready_at = $4 WHERE user_id = $1 AND sink = $2 AND lease_id = $3'
      return (await change(renew, [userId, sink, leaseId, until])) === 1
    },

    settle: (lease) => whereLeased(lease, 'DELETE FROM @outbox WHERE seq = $1'),
    postpone: (lease, until, reason) =>
      whereLeased(lease, 'UPDATE @outbox SET due_at = $2, reason = $3 WHERE seq = $1', [until, reason]),
    bury: (lease, now, reason) =>
      whereLeased(lease, 'UPDATE @outbox SET dead_at = $2, reason = $3 WHERE seq = $1', [now, reason]),
    release: (lease, until) =>
      whereLeased(lease, 'UPDATE @outbox SET attempts = attempts - 1, due_at = $2 WHERE seq = $1', [until]),
  }
}
