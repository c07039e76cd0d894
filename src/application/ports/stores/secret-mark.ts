/**
 * The mark of the master secret that a user store was first used with, and those of the fields that the deployer declares. They are
 * stored as durably as the users.
 */
export interface SecretMark {
  /**
   * Stores `mark` at the first start and compares it at each later one: `'other'` when the store was first used with
   * another secret. Of two concurrent first starts, one is the first.
   *
   * @param name marks of different names are independent; by default that of the secret
   */
  check(mark: string, name?: string): Promise<'first' | 'same' | 'other'>

  /** Stores `mark` in place of any other one, because an operator has replaced the secret or the keys of a field. */
  replace(mark: string, name?: string): Promise<void>
}
