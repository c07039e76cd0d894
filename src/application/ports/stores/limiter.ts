/** A counter after an addition. */
export interface Counted {
  readonly points: number
  /** Milliseconds until the counter expires. */
  readonly expiresIn: number
}

/** Counters that expire, shared by all processes of a tenant. */
export interface Limiter {
  /**
   * Adds `points`, which may be negative, or 0 to read the counter, in one atomic step. A counter that is missing or expired
   * starts at 0 and lives for `seconds`; later additions do not prolong it. A counter that has no points left is removed:
   * otherwise attempts that do not count would fill the store, and the expiry in a later refusal would reveal when they
   * were made. At most 100 000 counters are kept; the oldest go first.
   */
  add(key: string, points: number, seconds: number): Promise<Counted>

  /** Removes a counter. */
  clear(key: string): Promise<void>
}
