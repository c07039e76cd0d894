import type { UserId } from '../../domain/ids.ts'
import type { ClientTraits } from '../../domain/session.ts'
import type { KeyRing } from '../ports/key-ring.ts'

/** A code together with everything that it is bound to (RFC 6749 section 4.1.3, RFC 7636 section 4.4). */
export interface BoundCode {
  readonly code: string
  readonly app: string
  /** The exact address of the authorization request, with its port. */
  readonly redirectUri: string
  /** The S256 challenge (RFC 7636 section 4.2). */
  readonly challenge: string
}

/** The login on the hosted pages for which a code was issued. */
export interface CodeLogin {
  readonly userId: UserId
  /** The backend and the id of its credential. The end of the credential ends the code. */
  readonly backend: string
  readonly id: string
  readonly sid: string
  readonly generation: number | null
  /** Milliseconds since 1970. */
  readonly provedAt: number
  readonly expiresAt: number
  readonly methods: readonly string[]
  /** Of the browser, for the list of the user's sessions. */
  readonly traits: ClientTraits
}

/**
 * The key of a record of a code. `'open'` goes to its first use, `'unused'` to whichever use comes second or to the end of the
 * first, and `'used'` says what the first gave. App, address and challenge are part of the key. So a wrong verifier, another app or another
 * address finds nothing: it neither redeems the code nor uses it up.
 */
export function codeKey(keyRing: Pick<KeyRing, 'digest'>, kind: 'open' | 'unused' | 'used', bound: BoundCode): string {
  const digest = keyRing.digest(JSON.stringify([kind, bound.code, bound.app, bound.redirectUri, bound.challenge]))
  return `app-code:${digest}`
}
