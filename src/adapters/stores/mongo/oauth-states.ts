import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import type { OAuthState } from '../../../domain/oauth-state.ts'
import { type Connection, latest, sweepExpired } from './connection.ts'
import { literal } from './documents.ts'

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
        const { digest, ...fields } = fieldsOf(state)
        await oauthStates.insertOne({ _id: digest, ...fields })
        return 'stored'
      }),

    take: (digest) =>
      run(async () => {
        const document = await oauthStates.findOneAndDelete({ _id: literal(digest), expiresAt: { $gt: now() } })
        return document && fieldsOf({ ...document, digest: document._id })
      }),

    sweep: (limit) => run(() => sweepExpired(expiring('oauth_states'), now(), limit)),
  }
}

/** Field by field: a caller without types could hang anything on it. */
function fieldsOf(state: OAuthState): OAuthState {
  return {
    digest: state.digest,
    browserDigest: state.browserDigest,
    provider: state.provider,
    flow: state.flow,
    userId: state.userId,
    credentialId: state.credentialId,
    codeVerifier: state.codeVerifier,
    nonce: state.nonce,
    redirectUri: state.redirectUri,
    expiresAt: state.expiresAt,
  }
}
