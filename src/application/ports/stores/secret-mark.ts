/**
 * Named texts of a tenant, beside its users and as durable as they are. Two are marks: that of the master secret with which the store
 * was first used, and those of the declared fields. Further texts are the signing keys, the progress of a change of the secret, the
 * first day of logins from a former system, and the domains of passkeys.
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

  /** The text of this name; `null` if there is none. Includes every exchange that has resolved, also one of another process. */
  read(name: string): Promise<string | null>

  /**
   * Stores `next` if the text of this name is `expected`, where `null` stands for no text. Returns whether it has. Of any number of
   * concurrent calls with the same `expected` and different texts, exactly one returns `true`.
   */
  exchange(name: string, expected: string | null, next: string): Promise<boolean>
}
