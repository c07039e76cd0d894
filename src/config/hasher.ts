import { type Argon2Hasher, argon2Hasher } from '../adapters/crypto/argon2-hasher.ts'
import { defaultHashConcurrency } from '../adapters/crypto/hash-concurrency.ts'
import type { Settings } from './settings.ts'

/** One per process: argon2 computes in libuv's threads, which everything else needs as well. */
export function openHasher({ passwords }: Settings): Argon2Hasher {
  const { concurrency, maxWaitSeconds, memoryKiB, timeCost, parallelism } = passwords
  const threads = Number(process.env.UV_THREADPOOL_SIZE)
  const threadPoolSize = Number.isInteger(threads) && threads > 0 ? threads : null
  return argon2Hasher({
    concurrency: concurrency ?? defaultHashConcurrency({ threadPoolSize }),
    maxWaitSeconds,
    memoryKiB,
    timeCost,
    parallelism,
  })
}
