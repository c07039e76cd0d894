import type { SecretMark } from '../../../application/ports/stores/secret-mark.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import { type Connection, latest } from './connection/connection.ts'

export function mongoSecretMark({ meta, run, isDuplicate }: Connection): SecretMark {
  return {
    // The unique `_id` makes exactly one of several concurrent first starts the first.
    check: (mark, name = 'secret') =>
      run(async () => {
        try {
          await meta.insertOne({ _id: name, mark })
          return 'first'
        } catch (error) {
          if (!isDuplicate(error)) throw error
        }
        const stored = await meta.findOne({ _id: name }, latest)
        if (stored === null) throw new Unavailable('a mark was removed while it was read')
        return stored.mark === mark ? 'same' : 'other'
      }),

    replace: (mark, name = 'secret') =>
      run(async () => {
        await meta.replaceOne({ _id: name }, { mark }, { upsert: true })
      }),

    read: (name) => run(async () => (await meta.findOne({ _id: name }, latest))?.mark ?? null),

    exchange: (name, expected, next) =>
      run(async () => {
        if (expected !== null) {
          const { matchedCount } = await meta.updateOne({ _id: name, mark: expected }, { $set: { mark: next } })
          return matchedCount === 1
        }
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
