import type { SecretMark } from '../../../application/ports/stores/secret-mark.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import { type Connection, latest } from './connection/connection.ts'

export function mongoSecretMark({ meta, run, isDuplicate }: Connection): SecretMark {
  return {
    // The unique `_id` makes exactly one of several concurrent first starts the first.
    check: (mark) =>
      run(async () => {
        try {
          await meta.insertOne({ _id: 'secret', mark })
          return 'first'
        } catch (error) {
          if (!isDuplicate(error)) throw error
        }
        const stored = await meta.findOne({ _id: 'secret' }, latest)
        if (stored === null) throw new Unavailable('the mark of the secret was removed while it was read')
        return stored.mark === mark ? 'same' : 'other'
      }),

    replace: (mark) =>
      run(async () => {
        await meta.replaceOne({ _id: 'secret' }, { mark }, { upsert: true })
      }),
  }
}
