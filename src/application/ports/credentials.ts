import type { UserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'

/** A credential that was read and is genuine and not expired. Whether it is alive, the user record decides. */
export interface Credential {
  /** `jti` of a JWT, digest of a session. */
  readonly id: string
  readonly userId: UserId
  readonly generation: number
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** The "strategy" half of a backend: what its credential is. */
export interface Credentials {
  /** Whether a value has this strategy's shape. Others are never looked up. */
  recognises(value: string): boolean
  /** A new credential for the very record whose password was verified. */
  issue(user: User): Promise<string>
  read(value: string): Promise<Credential | null>
  /**
   * Ends a credential. `'remember'`: there is nothing stored that could be removed, so the user record must
   * remember its end until it expires.
   */
  revoke(credential: Credential): Promise<'ended' | 'remember'>
  /** Called after an answer: writes down the use where it matters. */
  recordUse(credential: Credential): Promise<void>
}
