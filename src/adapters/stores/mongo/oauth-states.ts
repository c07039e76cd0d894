import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import type { OAuthState } from '../../../domain/oauth-account.ts'
import { type Connection, latest, sweepExpired } from './connection.ts'
import { literal, type OAuthStateDocument } from './documents.ts'

/** The bound is checked before the insert, not with it: concurrent callers may exceed it by as many as they are. */
export function mongoOAuthStates({ oauthStates, expiring, now, run }: Connection): OAuthStateStore {
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
        const { digest, browserDigest, provider, flow, userId, codeVerifier, nonce, redirectUri, expiresAt } = state
        const fields = { browserDigest, provider, flow, userId, codeVerifier, nonce, redirectUri, expiresAt }
        await oauthStates.insertOne({ _id: digest, ...fields })
        return 'stored'
      }),

    take: (digest) =>
      run(async () => {
        const document = await oauthStates.findOneAndDelete({ _id: literal(digest), expiresAt: { $gt: now() } })
        return document && stateOf(document)
      }),

    sweep: (limit) => run(() => sweepExpired(expiring('oauth_states'), now(), limit)),
  }
}

function stateOf(document: OAuthStateDocument): OAuthState {
  const { _id: digest, browserDigest, provider, flow, userId, codeVerifier, nonce, redirectUri, expiresAt } = document
  return { digest, browserDigest, provider, flow, userId, codeVerifier, nonce, redirectUri, expiresAt }
}
