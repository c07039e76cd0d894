import { type Argon2Hasher, argon2Hasher } from '../adapters/crypto/argon2-hasher.ts'
import { openHashPool } from '../config/composition/shared-resources.ts'

export interface PasswordHasherOptions {
  /** Hashes at a time; by default as many as there are processors, and never all of libuv's threads. */
  readonly concurrency?: number
  /** A hash that would have to wait longer for its turn is `Unavailable`. */
  readonly maxWaitSeconds?: number
  /** Memory of one hash. With `timeCost` at least what OWASP's Password Storage Cheat Sheet calls as good as 19456 and 2. */
  readonly memoryKiB?: number
  readonly timeCost?: number
  readonly parallelism?: number
}

/** Argon2id (RFC 9106), which also verifies older hashes of argon2 and bcrypt. Make one per process. */
export function passwordHasher(options: PasswordHasherOptions = {}): Argon2Hasher {
  const { concurrency, maxWaitSeconds = 5, ...cost } = options
  const pool = openHashPool({ maxWaitSeconds, ...(concurrency !== undefined && { concurrency }) })
  return argon2Hasher({ pool, ...cost })
}
