import type { ExpiringIds } from '../../../application/ports/stores/expiring-ids.ts'
import type { Connection } from './connection/connection.ts'
import { literal } from './documents.ts'

export function mongoExpiringIds({ expiringIds, now, run, upsert, sweep }: Connection): ExpiringIds {
  return {
    add: (id, until) =>
      run(() =>
        upsert(() => expiringIds.updateOne({ _id: literal(id) }, { $max: { expiresAt: until } }, { upsert: true })),
      ),

    has: (id) => run(async () => (await expiringIds.findOne({ _id: literal(id), expiresAt: { $gt: now() } })) !== null),

    sweep: (limit) => sweep('expiring_ids', { expiresAt: { $lte: now() } }, limit),
  }
}
