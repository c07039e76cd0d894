import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import type { OAuthState } from '../../../domain/oauth-account.ts'
import type { Connection } from './connection.ts'
import { literal, type OAuthStateDocument } from './documents.ts'
import { sweepExpired } from './sweep-expired.ts'

export function mongoOAuthStates({ oauthStates, expiring, now, run }: Connection): OAuthStateStore {
  return {
    put: (state) =>
      run(async () => {
        const { digest, browserDigest, provider, flow, userId, codeVerifier, nonce, redirectUri, expiresAt } = state
        const fields = { browserDigest, provider, flow, userId, codeVerifier, nonce, redirectUri, expiresAt }
        await oauthStates.insertOne({ _id: digest, ...fields })
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
