import type { UserId } from '../../domain/ids.ts'
import type { ClientTraits } from '../../domain/session.ts'
import type { User } from '../../domain/user.ts'

/** A genuine credential that has not expired. The user record decides whether it is still valid. */
export interface Credential {
  /** The `jti` of a JWT, or the digest of a session. */
  readonly id: string
  readonly userId: UserId
  /** `null`: another system issued it, from which the user was imported. */
  readonly generation: number | null
  /** The login that it belongs to. The credentials of one login may be kept together. */
  readonly sid: string
  /** When the user was last proved for this login. It alone decides whether the login is fresh. */
  readonly provedAt: Date
  /** How the user was proved; empty if unknown. */
  readonly methods: readonly string[]
  /** The `client_id` of a JWT: the app that redeemed a code for it, or the backend. Absent without one. */
  readonly app?: string
  readonly expiresAt: Date
}

/** The proof of a user for which a credential is issued. */
export interface Proof {
  readonly at: Date
  /** Names of RFC 8176 where one fits, such as `pwd`. `provider`: a sign-in at an OAuth provider. */
  readonly methods: readonly string[]
  /** The login to which the new credential belongs. Absent: a new login, whose `sid` is the id of the credential. */
  readonly sid?: string
  /** The app that redeemed a code for the credential (`apps.<name>`). Absent: a login without a code. */
  readonly app?: string
}

/** A new credential. */
export interface IssuedCredential {
  /** The secret text that the client presents. No log may contain it. */
  readonly value: string
  /** The result of `read` for this value. */
  readonly credential: Credential
}

/** The strategy of a backend issues and reads credentials. */
export interface Credentials {
  /** Whether a value has the shape of this strategy's credentials. Other values are never looked up. */
  recognises(value: string): boolean
  /**
   * Issues a credential for the exact record of the proved user.
   *
   * @param traits for the list of the user's sessions, if the credential is stored
   */
  issue(user: User, proof: Proof, traits?: ClientTraits): Promise<IssuedCredential>
  read(value: string): Promise<Credential | null>
  /**
   * Ends a credential. `'remember'`: the credential is not stored, so its end was recorded instead, and the caller notes in
   * the user record that such a record exists (`endedUntil`).
   */
  revoke(credential: Credential): Promise<'ended' | 'remember'>
  /** Whether this credential has ended by itself. The user record knows the ends of all logins. */
  isEnded(credential: Credential): Promise<boolean>
  /** Called after an answer. Records the use if it matters. */
  recordUse(credential: Credential): Promise<void>
}
