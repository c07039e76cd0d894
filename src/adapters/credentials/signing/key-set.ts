import type { KeyAlgorithm, PublicJwk } from './algorithms.ts'

/** A pair of keys as the store holds it. Times are milliseconds since 1970. */
export interface StoredKey {
  /** The thumbprint of the public key. */
  readonly kid: string
  readonly alg: KeyAlgorithm
  readonly publicJwk: PublicJwk
  /** The private key, sealed for this `kid`. */
  readonly sealed: string
  readonly publishedAt: number
  /** From then on, new tokens are signed with it. */
  readonly signsAt: number
  /** The longest lifetime of its tokens. */
  readonly tokenSeconds: number
  /** Since then it signs for no backend; absent while it may. */
  readonly retiredAt?: number
}

export type KeyState = 'next' | 'current' | 'previous'

/** The name of the record with all keys of a tenant. */
export const keySetName = 'signing-keys'

/** The record of data that no release without signing keys has opened. Older data have no record. */
export const noKeys = textOf([])

export function textOf(keys: readonly StoredKey[]): string {
  return JSON.stringify({ keys })
}

export function keysIn(text: string): readonly StoredKey[] {
  return JSON.parse(text).keys
}

/** The record with each private key sealed anew. `null` if `open` cannot open one. */
export function resealed(
  text: string,
  open: (sealed: string, kid: string) => Buffer | null,
  seal: (key: Buffer, kid: string) => string,
): string | null {
  const keys: StoredKey[] = []
  for (const key of keysIn(text)) {
    const plain = open(key.sealed, key.kid)
    if (plain === null) return null
    keys.push({ ...key, sealed: seal(plain, key.kid) })
  }
  return textOf(keys)
}

/**
 * The key for new tokens: the latest of this algorithm that signs already. Until the first key of an algorithm signs, another one
 * does. `null`: there are no keys.
 */
export function signerOf(keys: readonly StoredKey[], alg: KeyAlgorithm, now: number): StoredKey | null {
  const signing = keys.filter(({ signsAt }) => signsAt <= now)
  const own = signing.filter((key) => key.alg === alg)
  // The clock of the process that has made the only key may be ahead.
  return latestOf(own) ?? latestOf(signing) ?? keys[0] ?? null
}

/** The end of the last token of a key, and of the caches of verifiers; `null` while the key may still sign. */
export function endOf(key: StoredKey, keys: readonly StoredKey[], cacheSeconds: number): number | null {
  const later = keys.filter(({ alg, signsAt }) => alg === key.alg && signsAt > key.signsAt)
  const lastSign = Math.min(key.retiredAt ?? Number.POSITIVE_INFINITY, ...later.map(({ signsAt }) => signsAt))
  return lastSign === Number.POSITIVE_INFINITY ? null : lastSign + (key.tokenSeconds + cacheSeconds) * 1000
}

export function stateOf(key: StoredKey, keys: readonly StoredKey[], now: number): KeyState {
  if (key.signsAt > now) return 'next'
  return signerOf(keys, key.alg, now) === key && (key.retiredAt ?? now) >= now ? 'current' : 'previous'
}

interface Policy {
  /** The algorithms of the backends. */
  readonly wanted: readonly KeyAlgorithm[]
  readonly cacheSeconds: number
  /** `0`: keys are never rotated by time. */
  readonly rotateDays: number
  /** The longest lifetime of new tokens. */
  readonly tokenSeconds: number
}

const dayMs = 86_400_000

/** The keys without those whose tokens have ended, and the algorithms that need a new key now. */
export function maintained(stored: readonly StoredKey[], now: number, policy: Policy) {
  const { wanted, cacheSeconds, rotateDays, tokenSeconds } = policy
  // Also the key of a former algorithm signs, until the first key of a new one does.
  const isUsed = (key: StoredKey): boolean =>
    wanted.some((alg) => key.alg === alg || signerOf(stored, alg, now) === key)
  const keys = stored
    .map((key) => (isUsed(key) ? used(key, tokenSeconds) : { retiredAt: now, ...key }))
    .filter((key, _at, all) => (endOf(key, all, cacheSeconds) ?? now) >= now)
  const missing = wanted.filter((alg) => {
    const last = latestOf(keys.filter((key) => key.alg === alg))
    return last === null || (rotateDays > 0 && last.signsAt + rotateDays * dayMs <= now)
  })
  return { keys, missing }
}

function used({ retiredAt: _, ...key }: StoredKey, tokenSeconds: number): StoredKey {
  return { ...key, tokenSeconds: Math.max(key.tokenSeconds, tokenSeconds) }
}

function latestOf(keys: readonly StoredKey[]): StoredKey | null {
  return keys.reduce<StoredKey | null>((last, key) => (last === null || key.signsAt > last.signsAt ? key : last), null)
}
