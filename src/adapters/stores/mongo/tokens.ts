import type { TokenStore } from '../../../application/ports/stores/token-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import type { OneTimeToken, TokenPurpose } from '../../../domain/one-time-token.ts'
import { type Connection, latest, sweepExpired, upserted } from './connection.ts'
import { literal, type TokenDocument } from './documents.ts'

export function mongoTokenStore({ tokens, expiring, now, run, isDuplicate }: Connection): TokenStore {
  const idOf = (purpose: TokenPurpose, userId: UserId): string => `${purpose}:${userId}`

  return {
    /** The filter does not match a live record with the same digest, so that record keeps its expiry. */
    put: (token) =>
      run(async () => {
        const { purpose, userId, digest, eventId, fact, createdAt, expiresAt } = token
        const _id = idOf(purpose, userId)
        const $set = { purpose, userId, digest, eventId, fact, createdAt, expiresAt }
        await upserted(isDuplicate, async () => {
          if ((await tokens.findOne({ _id, digest: literal(digest), expiresAt: { $gt: now() } }, latest)) !== null)
            return
          const isAnotherOrOver = { $or: [{ digest: { $ne: literal(digest) } }, { expiresAt: { $lte: now() } }] }
          await tokens.updateOne({ _id, ...isAnotherOrOver }, { $set }, { upsert: true })
        })
      }),

    find: (purpose, digest) =>
      run(async () => {
        const document = await tokens.findOne({
          digest: literal(digest),
          purpose: literal(purpose),
          expiresAt: { $gt: now() },
        })
        return document && tokenOf(document)
      }),

    current: (purpose, userId) =>
      run(async () => {
        const document = await tokens.findOne({ _id: idOf(purpose, userId), expiresAt: { $gt: now() } })
        return document && tokenOf(document)
      }),

    remove: (purpose, digest) =>
      run(async () => {
        await tokens.deleteOne({ digest: literal(digest), purpose: literal(purpose) })
      }),

    removeAllOf: (userId) =>
      run(async () => {
        await tokens.deleteMany({ userId: literal(userId) })
      }),

    sweep: (limit) => run(() => sweepExpired(expiring('tokens'), now(), limit)),
  }
}

function tokenOf(document: TokenDocument): OneTimeToken {
  const { purpose, userId, digest, eventId, fact, createdAt, expiresAt } = document
  return { purpose, userId, digest, eventId, fact, createdAt, expiresAt }
}
