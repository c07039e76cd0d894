/** Hashes and verifies passwords, a bounded number at a time. */
export interface PasswordHasher {
  /**
   * Throws `Unavailable` when the expected wait is longer than the deployer allows.
   *
   * @param client the client of the request, because clients take turns; `null` if unknown
   */
  hash(password: string, client?: string | null): Promise<string>

  /**
   * `null` costs as much as a hash and never matches. `'match_needs_rehash'`: the password matches, but the hash has
   * another algorithm or cost than today's. While the store has more expensive hashes than today's, a mismatch takes
   * as long as the most expensive one, so its time does not reveal the kind of the hash.
   */
  verify(
    password: string,
    hash: string | null,
    client?: string | null,
  ): Promise<'match' | 'mismatch' | 'match_needs_rehash'>
}
