import type { ExpiringMarks } from '../../../application/ports/stores/expiring-marks.ts'
import type { Connection } from './connection/connection.ts'
import { type ExpiringDocument, literal } from './documents.ts'

export function mongoExpiringMarks({
  expiringMarks,
  now,
  run,
  upsert,
  isDuplicate,
  page,
  sweep,
}: Connection): ExpiringMarks {
  return {
    add: (id, until) =>
      run(() =>
        upsert(() => expiringMarks.updateOne({ _id: literal(id) }, { $max: { expiresAt: until } }, { upsert: true })),
      ),

    claim: (id, until) =>
      run(async () => {
        try {
          await expiringMarks.insertOne({ _id: id, expiresAt: until })
          return true
        } catch (error) {
          if (!isDuplicate(error)) throw error
          return false
        }
      }),

    has: (id) =>
      run(async () => (await expiringMarks.findOne({ _id: literal(id), expiresAt: { $gt: now() } })) !== null),

    async list(limit, after) {
      const order = { filter: { expiresAt: { $gt: now() } }, limit, after }
      const { items, next } = await page<ExpiringDocument>('expiring_ids', order)
      return { items: items.map(({ _id: id, expiresAt: until }) => ({ id, until })), next }
    },

    sweep: (limit) => sweep('expiring_ids', { expiresAt: { $lte: now() } }, limit),
  }
}
