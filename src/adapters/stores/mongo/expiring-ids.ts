import type { ExpiringIds } from '../../../application/ports/stores/expiring-ids.ts'
import { type Connection, sweepExpired, upserted } from './connection.ts'
import { literal } from './documents.ts'

export function mongoExpiringIds({ expiring, now, run, isDuplicate }: Connection): ExpiringIds {
  const ids = expiring('expiring_ids')

  return {
    add: (id, until) =>
      run(() =>
        upserted(isDuplicate, () =>
          ids.updateOne({ _id: literal(id) }, { $max: { expiresAt: until } }, { upsert: true }),
        ),
      ),

    has: (id) => run(async () => (await ids.findOne({ _id: literal(id), expiresAt: { $gt: now() } })) !== null),

    sweep: (limit) => run(() => sweepExpired(ids, now(), limit)),
  }
}
