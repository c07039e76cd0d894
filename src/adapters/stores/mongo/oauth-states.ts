import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import { type Connection, latest } from './connection.ts'
import { literal } from './documents.ts'

/** The bound is checked before the insert, not with it: concurrent callers may exceed it by as many as they are. */
export function mongoOAuthStates({ oauthStates, now, run, sweep }: Connection): OAuthStateStore {
  /** The estimate costs nothing, but includes expired records and may be wrong after the server was killed. */
  async function isFull(maxOpen: number): Promise<boolean> {
    if ((await oauthStates.estimatedDocumentCount()) < maxOpen) return false
    const open = await oauthStates.countDocuments({ expiresAt: { $gt: now() } }, { limit: maxOpen, ...latest })
    return open >= maxOpen
  }

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
