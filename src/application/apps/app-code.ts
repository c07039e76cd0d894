import type { UserId } from '../../domain/ids.ts'
import type { ClientTraits } from '../../domain/session.ts'
import type { Credential } from '../ports/credentials.ts'
import { SingleUseKind } from '../single-use/single-use-kind.ts'

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

/** The credential that the first use of a code gave. Times are milliseconds since 1970. */
interface FirstUse extends Omit<Credential, 'userId' | 'provedAt' | 'expiresAt'> {
  readonly userId: UserId
  readonly provedAt: number
  readonly expiresAt: number
}

/** Goes to the first use. RFC 6749 section 4.1.2 recommends at most 600 seconds. */
export const codes = new SingleUseKind<CodeLogin>('app-code', { seconds: 60 })

/** Goes to whichever comes second: another use, or the end of the first, which may be a minute later than the end of the code. */
export const unusedCodes = new SingleUseKind<object>('unused-app-code', { seconds: 120 })

/**
 * Says what the first use gave. A second use after this time is refused like an unknown code. While a quarter of the places is in use, a
 * second use ends nothing. Otherwise used codes would leave no place for new ones.
 */
export const usedCodes = new SingleUseKind<FirstUse>('used-app-code', { seconds: 300, part: 1 / 4 })

/** A wrong verifier, another app or another address finds nothing: it neither redeems the code nor uses it up. */
export const foundBy = (bound: BoundCode) => [bound.code, bound.app, bound.redirectUri, bound.challenge]
