import type { UserId } from '../../domain/ids.ts'
import type { RequestPurpose } from '../../domain/one-time-token.ts'
import type { User } from '../../domain/user.ts'

/** A genuine link of the system that users were imported from. It has not expired. */
export interface FormerLink {
  readonly userId: UserId
  readonly expiresAt: Date
  /** Whether the address or the password of the link is still that of `user`. */
  standsFor(user: User): Promise<boolean>
}

/** Reads open links for a reset or a verification that another system has sent. */
export interface FormerLinks {
  find(purpose: RequestPurpose, value: string): FormerLink | null
}
