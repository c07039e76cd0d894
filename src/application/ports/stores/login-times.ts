import type { UserId } from '../../../domain/ids.ts'

/**
 * The time of the last login of each user, beside the user: a login changes neither the version of the user nor its events. A
 * user store offers it, because the time goes with the user.
 */
export interface LoginTimes {
  /** Keeps the latest time. Nothing is stored for a user who does not exist, or who is removed meanwhile. */
  recordLogin(userId: UserId, at: Date): Promise<void>
  /** `null`: no login was recorded, or the user does not exist. */
  lastLogin(userId: UserId): Promise<Date | null>
}
