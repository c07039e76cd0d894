import { setTimeout as delay } from 'node:timers/promises'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import { isHashable, isVerifiable, normalisePassword } from '../../domain/password.ts'
import { costObjection } from './cost-bounds.ts'
import type { HashPool } from './hash-pool.ts'
import {
  type Argon2idParameters,
  argon2idHash,
  argon2idPrefix,
  dearestOf,
  type HashScheme,
  schemeOfHash,
  schemeOfPrefix,
} from './hash-schemes.ts'

export interface Argon2Hasher extends PasswordHasher {
  /**
   * Receives the schemes of the hashes in the store (`UserStore.passwordSchemes`) and measures new ones. Then a mismatch
   * takes at least as long as the most expensive scheme, until only today's scheme is left. Callers repeat it at intervals.
   */
  prepare(schemes: readonly string[]): Promise<void>
}

interface Options extends Partial<Argon2idParameters> {
  /** One per process; each hasher gets its own queue. */
  readonly pool: HashPool
}

/** While there are several schemes, a mismatch takes this multiple of the cost of the most expensive one. */
const floorFactor = 1.5

export function argon2Hasher(options: Options): Argon2Hasher {
  const { pool, memoryKiB = 19_456, timeCost = 2, parallelism = 1 } = options
  const parameters = { memoryKiB, timeCost, parallelism }
  const today = schemeOfPrefix(argon2idPrefix(parameters))
  if (today === null)
    throw new RangeError(`argon2id with m=${memoryKiB} KiB, t=${timeCost}, p=${parallelism} is not supported`)
  if (costObjection({ memoryKiB, timeCost }) !== null) {
    throw new RangeError(`argon2id with m=${memoryKiB} KiB and t=${timeCost} is too weak, or too dear`)
  }

  const queue = pool.queue()
  const costsMs = new Map<string, number>()
  let floorMs = 0

  const measured = async (scheme: HashScheme): Promise<number> => {
    const known = costsMs.get(scheme.prefix)
    if (known !== undefined) return known
    const measuring = { maxWaitSeconds: Number.POSITIVE_INFINITY }
    const { tookMs } = await queue.run(scheme.lanes, () => scheme.verify('', scheme.dummy()), measuring)
    costsMs.set(scheme.prefix, tookMs)
    return tookMs
  }

  return {
    async hash(password, client = null, spelling = 'nfc') {
      if (!isHashable(password)) throw new RangeError('the password is too long or no valid Unicode')
      const text = spelling === 'nfc' ? normalisePassword(password) : password
      const { value } = await queue.run(today.lanes, () => argon2idHash(text, parameters), { client })
      return value
    },

    async verify(password, hash, client = null) {
      const scheme = hash === null ? null : schemeOfHash(hash)
      const possible = isVerifiable(password)
      const normal = possible ? normalisePassword(password) : ''
      // An unknown user or an unknown kind of hash costs the same work.
      const tried = scheme ?? today
      const against = scheme === null || hash === null ? today.dummy() : hash

      const matches = async (text: string): Promise<boolean> => {
        const { value, beganAt } = await queue.run(tried.lanes, () => tried.verify(text, against), { client })
        if (value && possible && scheme !== null) return true
        const remainingMs = beganAt + floorMs - pool.monotonic()
        if (remainingMs > 0) await delay(remainingMs)
        return false
      }

      const isNormalMatch = await matches(normal)
      // Another program may have hashed a text as it was typed. The second hash depends on the text alone.
      const isTypedMatch = possible && normal !== password && (await matches(password))
      if (!isNormalMatch && !isTypedMatch) return 'mismatch'
      const matched = isNormalMatch ? normal : password
      if (tried.prefix === today.prefix || !isHashable(matched) || !tried.readsAll(matched)) return 'match'
      return isNormalMatch ? 'match_needs_rehash' : 'typed_needs_rehash'
    },

    async prepare(schemes) {
      const found = schemes.map(schemeOfPrefix).filter((scheme) => scheme !== null)
      const others = found.filter((scheme) => scheme.prefix !== today.prefix)
      if (others.length === 0) {
        floorMs = 0
        return
      }
      let dearestMs = await measured(today)
      for (const scheme of dearestOf(others)) dearestMs = Math.max(dearestMs, await measured(scheme))
      floorMs = dearestMs * floorFactor
    },
  }
}
