import { createHook } from 'node:async_hooks'
import { argon2Hasher } from '../../../src/adapters/crypto/argon2-hasher.ts'
import { hashPool } from '../../../src/adapters/crypto/hash-pool.ts'

export const password = 'correct horse battery staple'

/** How a hash begins that is made today. */
export const todays = '$argon2id$v=19$m=19456,t=2,p=1'

/** Refuses no hash for its wait. */
export const patientHasher = (concurrency = 2) =>
  argon2Hasher({ pool: hashPool({ size: concurrency, maxWaitSeconds: 60 }) })

/** The most native hashes that were scheduled and not yet done at any moment while `act` ran, and how many in all. */
export async function nativeHashesDuring(act: () => Promise<unknown>): Promise<{ most: number; all: number }> {
  let inFlight = 0
  let most = 0
  const hashes = new Set<number>()
  const hook = createHook({
    init(id, type) {
      if (type !== 'argon2:HashWorker' && !type.startsWith('bcrypt:')) return
      hashes.add(id)
      inFlight += 1
      most = Math.max(most, inFlight)
    },
    before(id) {
      if (hashes.has(id)) inFlight -= 1
    },
  }).enable()
  try {
    await act()
  } finally {
    hook.disable()
  }
  return { most, all: hashes.size }
}
