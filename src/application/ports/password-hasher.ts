/** Hashes and verifies passwords, a bounded number at a time, away from everything else. */
export interface PasswordHasher {
  /** Throws `Unavailable` when the wait would be longer than the deployer allows. */
  hash(password: string): Promise<string>

  /**
   * `null` costs as much as a hash and is always a mismatch. `'match_needs_rehash'`: right, but the hash is
   * not of today's algorithm and cost. While the store holds dearer hashes than today's, a mismatch takes as
   * long as the dearest, so that its time does not tell which kind it was.
   */
  verify(password: string, hash: string | null): Promise<'match' | 'mismatch' | 'match_needs_rehash'>
}
