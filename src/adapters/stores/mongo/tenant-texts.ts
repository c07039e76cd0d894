import type { TenantTexts } from '../../../application/ports/stores/tenant-texts.ts'
import { type Connection, latest } from './connection/connection.ts'

export function mongoTenantTexts({ meta, run, isDuplicate }: Connection): TenantTexts {
  return {
    read: (name) => run(async () => (await meta.findOne({ _id: name }, latest))?.mark ?? null),

    exchange: (name, expected, next) =>
      run(async () => {
        if (expected !== null) {
          const { matchedCount } = await meta.updateOne({ _id: name, mark: expected }, { $set: { mark: next } })
          return matchedCount === 1
        }
        // The unique `_id` lets exactly one of several concurrent first starts succeed.
        try {
          await meta.insertOne({ _id: name, mark: next })
          return true
        } catch (error) {
          if (!isDuplicate(error)) throw error
          return false
        }
      }),
  }
}
