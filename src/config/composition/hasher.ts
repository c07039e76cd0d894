import { type Argon2Hasher, argon2Hasher } from '../../adapters/crypto/argon2-hasher.ts'
import { defaultHashConcurrency } from '../../adapters/crypto/hash-concurrency.ts'
import { type HashPool, hashPool } from '../../adapters/crypto/hash-pool.ts'
import type { Settings } from '../settings/schema/schema.ts'

/**
 * One per process: argon2 computes in libuv's threads, which everything else needs as well.
 *
 * @param isShared whether there may be several tenants, of which none may then fill the whole queue
 */
export function openHashPool(
  { concurrency, maxWaitSeconds }: Pick<Settings['passwords'], 'concurrency' | 'maxWaitSeconds'>,
  { isShared = false }: { isShared?: boolean } = {},
): HashPool {
  const threads = Number(process.env.UV_THREADPOOL_SIZE)
  const threadPoolSize = Number.isInteger(threads) && threads > 0 ? threads : null
  return hashPool({ size: concurrency ?? defaultHashConcurrency({ threadPoolSize }), maxWaitSeconds, isShared })
}

/** One per tenant: each hashes at its own cost, and waits in a queue of its own. */
export function openHasher({ passwords }: Pick<Settings, 'passwords'>, pool: HashPool): Argon2Hasher {
  const { memoryKiB, timeCost, parallelism } = passwords
  return argon2Hasher({ pool, memoryKiB, timeCost, parallelism })
}
