/** Hashes and verifies passwords, a bounded number at a time. */
export interface PasswordHasher {
  /**
   * Throws `Unavailable` when the expected wait is longer than the deployer allows.
   *
   * @param client the client of the request, because clients take turns; `null` if unknown
   * @param spelling `'typed'` hashes the text as it is, and not its NFC form
   */
  hash(password: string, client?: string | null, spelling?: 'nfc' | 'typed'): Promise<string>

  /**
   * `null` costs as much as a hash and never matches. A password that is not NFC is verified as it is, too, because another
   * program may have hashed it so; this doubles the work for every hash and for `null`. `'match_needs_rehash'`: the
   * password matches, but the hash has another algorithm or cost than today's; `'typed_needs_rehash'`: the same, and only the text as it is
   * matches. A hash of a password that is longer than new ones may be, and a hash of bcrypt that may have ignored the end of the password needs none, because the user may have mistyped it. While the store has more expensive hashes than today's, a mismatch takes
   * as long as the most expensive one, so its time does not reveal the kind of the hash.
   */
  verify(
    password: string,
    hash: string | null,
    client?: string | null,
  ): Promise<'match' | 'mismatch' | 'match_needs_rehash' | 'typed_needs_rehash'>
}
