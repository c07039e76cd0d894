/**
 * Named texts of a tenant, beside its users and as durable as they are: the mark of the master secret (`secret`), the progress of its
 * change, the signing keys, the marks of the declared fields (`field:` and the name), the first day of logins from a former system, and
 * the domains of passkeys.
 */
export interface TenantTexts {
  /** The text of this name; `null` if there is none. Includes every exchange that has resolved, also one of another process. */
  read(name: string): Promise<string | null>

  /**
   * Stores `next` if the text of this name is `expected`, where `null` stands for no text. Returns whether it has. Of any number of
   * concurrent calls with the same `expected` and different texts, exactly one returns `true`.
   */
  exchange(name: string, expected: string | null, next: string): Promise<boolean>
}
