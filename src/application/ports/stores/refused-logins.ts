import type { RefusedLogin } from '../../../domain/refused-login.ts'

/** The greatest number of refused logins that are kept for a key. */
export const maxRefusedLogins = 20

/**
 * The last refused logins of each address, under a key that hides the address. All processes of a tenant share them. They may be
 * lost, as counters may.
 */
export interface RefusedLogins {
  /**
   * Keeps the login as the latest of `key`, beside the 19 before it. At most 100 000 keys are kept; the key whose latest
   * login is the oldest goes first.
   */
  add(key: string, login: RefusedLogin): Promise<void>

  /** The logins of the key since `since`, the latest first. */
  list(key: string, since: Date): Promise<readonly RefusedLogin[]>

  /** Deletes at most `limit` keys whose latest login was before `before`. Returns how many. */
  sweep(before: Date, limit: number): Promise<number>
}
