import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import type { OAuthFlow, OAuthState } from '../../../domain/oauth-account.ts'
import type { Ask } from './connection.ts'
import { expireAt } from './expire-at.ts'

/** `<prefix>oauth-state:<digest>` is the state, until it is taken or over. */
export function redisOAuthStates(ask: Ask, prefix: string, clock: () => Date): OAuthStateStore {
  const keyOf = (digest: string): string => `${prefix}oauth-state:${digest}`

  return {
    async put(state) {
      await ask((redis) => redis.set(keyOf(state.digest), toText(state), 'PXAT', expireAt(state.expiresAt)))
    },

    async take(digest) {
      const text = await ask((redis) => redis.getdel(keyOf(digest)))
      const state = text === null ? null : fromText(digest, text)
      return state !== null && state.expiresAt > clock() ? state : null
    },

    async sweep() {
      return 0 // Redis deletes by itself what has expired.
    },
  }
}

interface StateText {
  browserDigest: string
  provider: string
  flow: OAuthFlow
  userId: UserId | null
  codeVerifier: string
  nonce: string
  redirectUri: string
  expiresAt: number
}

function toText(state: OAuthState): string {
  const { browserDigest, provider, flow, userId, codeVerifier, nonce, redirectUri, expiresAt } = state
  const text: StateText = {
    browserDigest,
    provider,
    flow,
    userId,
    codeVerifier,
    nonce,
    redirectUri,
    expiresAt: expiresAt.getTime(),
  }
  return JSON.stringify(text)
}

function fromText(digest: string, text: string): OAuthState {
  // Safe: only `toText` writes under these keys.
  const { browserDigest, provider, flow, userId, codeVerifier, nonce, redirectUri, expiresAt } = JSON.parse(
    text,
  ) as StateText
  return {
    digest,
    browserDigest,
    provider,
    flow,
    userId,
    codeVerifier,
    nonce,
    redirectUri,
    expiresAt: new Date(expiresAt),
  }
}
