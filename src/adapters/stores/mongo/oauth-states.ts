import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import { type Connection, fullness } from './connection/connection.ts'
import { literal } from './documents.ts'

export function mongoOAuthStates({ oauthStates, now, run, sweep }: Connection): OAuthStateStore {
  const isFull = fullness(oauthStates, () => ({ expiresAt: { $gt: now() } }))

  return {
    put: (state, maxOpen) =>
      run(async () => {
        if (await isFull(maxOpen)) return 'full'
        const { digest, ...fields } = state
        await oauthStates.insertOne({ _id: digest, ...fields })
        return 'stored'
      }),

    take: (digest) =>
      run(async () => {
        const document = await oauthStates.findOneAndDelete({ _id: literal(digest), expiresAt: { $gt: now() } })
        if (document === null) return null
        const { _id, ...fields } = document
        return { digest: _id, ...fields }
      }),

    sweep: (limit) => sweep('oauth_states', { expiresAt: { $lte: now() } }, limit),
  }
}
