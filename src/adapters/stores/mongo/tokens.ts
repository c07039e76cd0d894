import type { TokenStore } from '../../../application/ports/stores/token-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import { factText, type OneTimeToken, parseFact, type TokenPurpose } from '../../../domain/one-time-token.ts'
import { type Connection, latest } from './connection/connection.ts'
import { literal, type TokenDocument } from './documents.ts'

export function mongoTokenStore({ tokens, now, run, upsert, sweep }: Connection): TokenStore {
  const idOf = (purpose: TokenPurpose, userId: UserId): string => `${purpose}:${userId}`

  const one = (filter: object): Promise<OneTimeToken | null> =>
    run(async () => {
      const document = await tokens.findOne({ ...filter, expiresAt: { $gt: now() } })
      return document && tokenOf(document)
    })

  return {
    /** The filter does not match a live record with the same digest, so that record keeps its expiry. */
    put: (token) =>
      run(async () => {
        const _id = idOf(token.purpose, token.userId)
        const digest = literal(token.digest)
        await upsert(async () => {
          if ((await tokens.findOne({ _id, digest, expiresAt: { $gt: now() } }, latest)) !== null) return
          const isAnotherOrOver = { $or: [{ digest: { $ne: digest } }, { expiresAt: { $lte: now() } }] }
          await tokens.updateOne(
            { _id, ...isAnotherOrOver },
            { $set: { ...token, fact: factText(token.fact) } },
            { upsert: true },
          )
        })
      }),

    find: async (purpose, digest) => one({ digest: literal(digest), purpose: literal(purpose) }),
    current: (purpose, userId) => one({ _id: idOf(purpose, userId) }),

    remove: (purpose, digest) =>
      run(async () => {
        await tokens.deleteOne({ digest: literal(digest), purpose: literal(purpose) })
      }),

    removeAllOf: (userId) =>
      run(async () => {
        await tokens.deleteMany({ userId: literal(userId) })
      }),

    sweep: (limit) => sweep('tokens', { expiresAt: { $lte: now() } }, limit),
  }
}

function tokenOf({ _id, fact, ...token }: TokenDocument): OneTimeToken {
  return { ...token, fact: parseFact(fact) }
}
