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
   * Ends a credential. `'remember'`: nothing stored could be removed. The end is a record of its own, and the user
   * record must remember that there is one.
   */
  revoke(credential: Credential): Promise<'ended' | 'remember'>
  /** Whether the end of a credential that `read` still takes was recorded. */
  isEnded(credential: Credential): Promise<boolean>
  /** Called after an answer: writes down the use where it matters. */
  recordUse(credential: Credential): Promise<void>
}
