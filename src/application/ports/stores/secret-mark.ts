/** The mark of the master secret that a user store was first used with. It is stored as durably as the users. */
export interface SecretMark {
  /**
   * Stores `mark` at the first start and compares it at each later one: `'other'` when the store was first used with
   * another secret. Of two concurrent first starts, one is the first.
   */
  check(mark: string): Promise<'first' | 'same' | 'other'>

  /** Stores `mark` in place of any other one, because an operator has replaced the secret. */
  replace(mark: string): Promise<void>
}
