import type { KeyObject } from 'node:crypto'
import type { TenantTexts } from '../../../application/ports/stores/tenant-texts.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import { type KeyAlgorithm, newKeyPair, type PublicJwk, privateKeyOf, publicKeyOf } from './algorithms.ts'
import { endOf, keySetName, keysIn, maintained, noKeys, type StoredKey, signerOf, stateOf, textOf } from './key-set.ts'

interface Needs {
  readonly texts: TenantTexts
  readonly seal: (key: Buffer, kid: string) => string
  /** `null` if another secret has sealed the key. */
  readonly unseal: (sealed: string, kid: string) => Buffer | null
  /** The algorithms of the backends. */
  readonly wanted: readonly KeyAlgorithm[]
  /** An algorithm that counts only for data that no older release has opened. */
  readonly wantedIfNew: KeyAlgorithm | null
  readonly cacheSeconds: number
  readonly rotateDays: number
  /** The longest lifetime of new tokens. */
  readonly tokenSeconds: number
  readonly clock: () => Date
  /** Called for each key that this process has added. */
  readonly added: (key: Pick<StoredKey, 'kid' | 'alg'> & { readonly signsAt: Date }) => void
}

export interface Signer {
  readonly alg: KeyAlgorithm
  readonly kid: string
  readonly key: KeyObject
}

export type SigningKeys = ReturnType<typeof signingKeys>

/** A process that meets an unknown `kid` reads the keys again, but not more often than this: anybody can make one up. */
const coolDownMs = 1000
const longestRereadSeconds = 15

/** The interval at which each process reads the keys again. A removed key is dead everywhere within this time. */
export function rereadSecondsOf(cacheSeconds: number): number {
  return Math.min(longestRereadSeconds, cacheSeconds / 4)
}

/**
 * The pairs of keys of a tenant. All processes share them through the store, where the private keys are sealed. A process reads
 * them at their first use, and then again when they are used after the interval, so that unused keys cost nothing.
 */
export function signingKeys(needs: Needs) {
  const { texts, seal, unseal, wantedIfNew, cacheSeconds, clock } = needs
  const rereadSeconds = rereadSecondsOf(cacheSeconds)
  // The other processes publish a new key at their next reading.
  const leadSeconds = cacheSeconds + rereadSeconds
  const privateKeys = new Map<string, KeyObject>()
  const whenRemoved: (() => void)[] = []
  let known = new Map<string, { readonly alg: KeyAlgorithm; readonly key: KeyObject }>()
  let keys: readonly StoredKey[] = []
  let readAt: number | null = null
  let askedAt = 0
  let reading: Promise<void> | null = null

  const now = (): number => clock().getTime()

  /** Reads the record, and writes it if `change` returns other keys: of concurrent processes, one does. */
  async function change(
    next: (stored: readonly StoredKey[], wanted: readonly KeyAlgorithm[], at: number) => Promise<readonly StoredKey[]>,
  ): Promise<void> {
    for (let attempt = 0; attempt < 8; attempt++) {
      const text = await texts.read(keySetName)
      const wanted = [...new Set([...needs.wanted, ...(text !== null && wantedIfNew !== null ? [wantedIfNew] : [])])]
      const stored = keysIn(text ?? noKeys)
      const changed = await next(stored, wanted, now())
      const isSame = textOf(changed) === textOf(stored)
      if (isSame || (await texts.exchange(keySetName, text, textOf(changed)))) {
        if (!isSame) report(stored, changed)
        return adopt(changed)
      }
    }
    throw new Unavailable('other processes change the signing keys all the time')
  }

  function report(before: readonly StoredKey[], after: readonly StoredKey[]): void {
    for (const { kid, alg, signsAt } of after) {
      if (!before.some((one) => one.kid === kid)) needs.added({ kid, alg, signsAt: new Date(signsAt) })
    }
  }

  function adopt(stored: readonly StoredKey[]): void {
    const before = known
    known = new Map(
      stored.map(({ kid, alg, publicJwk }) => [kid, before.get(kid) ?? { alg, key: publicKeyOf(publicJwk) }]),
    )
    keys = stored
    readAt = now()
    const removed = [...before.keys()].filter((kid) => !known.has(kid))
    for (const kid of removed) privateKeys.delete(kid)
    if (removed.length > 0) for (const tell of whenRemoved) tell()
  }

  async function newKey(alg: KeyAlgorithm, signsAt: number, at: number): Promise<StoredKey> {
    const { kid, publicJwk, privateKey } = await newKeyPair(alg)
    const sealed = seal(privateKey, kid)
    return { kid, alg, publicJwk, sealed, publishedAt: at, signsAt, tokenSeconds: needs.tokenSeconds }
  }

  const withNewKeys = async (live: readonly StoredKey[], algorithms: readonly KeyAlgorithm[], at: number) => {
    // The first keys sign at once, because there is no other one.
    const signsAt = live.length === 0 ? at : at + leadSeconds * 1000
    return [...live, ...(await Promise.all(algorithms.map((alg) => newKey(alg, signsAt, at))))]
  }

  const upkeep = () =>
    change(async (stored, wanted, at) => {
      const { keys, missing } = maintained(stored, at, { ...needs, wanted })
      return withNewKeys(keys, missing, at)
    })

  /** Reads the keys, drops those whose tokens have ended, and adds those that are due. */
  function refresh(): Promise<void> {
    reading ??= upkeep().finally(() => {
      reading = null
    })
    return reading
  }

  // A clock may have been set back.
  const isOld = (): boolean => readAt !== null && Math.abs(now() - readAt) >= rereadSeconds * 1000

  /** While the store does not answer, the known keys go on, and it is asked once in a second. */
  async function fresh(): Promise<void> {
    if (readAt !== null && !isOld()) return
    try {
      await refresh()
    } catch (error) {
      if (readAt === null || !(error instanceof Unavailable)) throw error
      readAt = now() - rereadSeconds * 1000 + Math.min(coolDownMs, rereadSeconds * 500)
    }
  }

  function privateKeyFor({ kid, sealed }: StoredKey): KeyObject {
    const opened = privateKeys.get(kid)
    if (opened !== undefined) return opened
    const plain = unseal(sealed, kid)
    if (plain === null) {
      throw new Error(
        'the signing keys were sealed with a secret that this process does not have: give it every secret (docs/stores.md#change-the-secret), or run "portcullis keys revoke" to replace the keys',
      )
    }
    const key = privateKeyOf(plain)
    privateKeys.set(kid, key)
    return key
  }

  return {
    rereadSeconds,
    cacheSeconds,

    /** Whether the keys were used, and should be read again before anything that was verified with them counts. */
    isOld,
    fresh,

    /** Reads the keys, and makes the first ones, if a backend needs any. */
    async prepare(): Promise<void> {
      if (needs.wanted.length > 0 || wantedIfNew !== null) await refresh()
    },

    /** Calls `tell` when a key was removed, so that its tokens are verified again. */
    onRemoved(tell: () => void): void {
      whenRemoved.push(tell)
    },

    /** The key for new tokens. `null`: there are none, since the default asks for them, and an older release has opened the data. */
    async signer(alg: KeyAlgorithm): Promise<Signer | null> {
      await fresh()
      const signer = signerOf(keys, alg, now())
      return signer === null ? null : { alg: signer.alg, kid: signer.kid, key: privateKeyFor(signer) }
    },

    /** The public key of this name. Throws `Unavailable` if it is unknown and the store does not answer. */
    async find(kid: string): Promise<{ readonly alg: KeyAlgorithm; readonly key: KeyObject } | null> {
      if (isOld()) await fresh()
      const found = known.get(kid)
      if (found !== undefined) return found
      if (reading === null && Math.abs(now() - askedAt) < coolDownMs) return null
      const asked = now()
      await refresh()
      askedAt = asked
      return known.get(kid) ?? null
    },

    /** The keys for other services (RFC 7517 section 5). */
    async published(): Promise<readonly PublicJwk[]> {
      await fresh()
      return keys.map(({ kid, alg, publicJwk }) => ({ ...publicJwk, kid, alg, use: 'sig' }))
    },

    async list() {
      const stored = keysIn((await texts.read(keySetName)) ?? noKeys)
      return stored.map((key) => {
        const ends = endOf(key, stored, cacheSeconds)
        return {
          kid: key.kid,
          alg: key.alg,
          state: stateOf(key, stored, now()),
          publishedAt: new Date(key.publishedAt),
          signsAt: new Date(key.signsAt),
          endsAt: ends === null ? null : new Date(ends),
        }
      })
    },

    /** Publishes a next key for each algorithm in use that has none. */
    async rotate(): Promise<void> {
      await change(async (stored, wanted, at) => {
        const { keys } = maintained(stored, at, { ...needs, wanted, rotateDays: 0 })
        const without = wanted.filter((alg) => !keys.some((key) => key.alg === alg && key.signsAt > at))
        return withNewKeys(keys, without, at)
      })
    },

    /** Replaces all keys at once: nothing that was signed with them is genuine any more. */
    async revoke(): Promise<void> {
      await change((_stored, wanted, at) => withNewKeys([], wanted, at))
    },
  }
}
