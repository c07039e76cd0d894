import { randomBytes } from 'node:crypto'
import argon2 from 'argon2'
import { greatestCost } from './cost-bounds.ts'

/** An algorithm and its cost. Every hash of one scheme costs the same to verify. */
export interface HashScheme {
  /** The start of its hashes, in one spelling: `$argon2id$v=19$m=19456,t=2,p=1`, `$2b$12`. */
  readonly prefix: string
  /** The number of processors that one hash uses. */
  readonly lanes: number
  /** Of schemes of one algorithm with as many lanes, the dearest has the highest cost. */
  readonly algorithm: 'argon2' | 'bcrypt'
  readonly cost: number
  /** Whether the scheme is known to have used every byte of a password that matches. */
  readsAll(password: string): boolean
  verify(password: string, hash: string): Promise<boolean>
  /** A hash without a password. Its verification costs as much as any other of the scheme. */
  dummy(): string
}

export interface Argon2idParameters {
  readonly memoryKiB: number
  readonly timeCost: number
  readonly parallelism: number
}

const saltBytes = 16
const tagBytes = 32

/** A new hash with a new salt; its prefix is `argon2idPrefix(parameters)`. */
export async function argon2idHash(password: string, parameters: Argon2idParameters): Promise<string> {
  const { memoryKiB: memoryCost, timeCost, parallelism } = parameters
  const salt = randomBytes(saltBytes)
  const cost = { memoryCost, timeCost, parallelism, hashLength: tagBytes }
  const tag = await argon2.hash(password, { type: argon2.argon2id, ...cost, salt, raw: true })
  return phcString(argon2idPrefix(parameters), salt, tag)
}

/** Version 0x13 is 19 (RFC 9106 section 3.1). */
export function argon2idPrefix({ memoryKiB, timeCost, parallelism }: Argon2idParameters): string {
  return `$argon2id$v=19$m=${memoryKiB},t=${timeCost},p=${parallelism}`
}

/** libargon2 and the tool of RFC 9106 write `m,t,p`; the package `argon2` writes `m,p,t`. */
const argon2Prefix =
  /^(\$argon2(?:id|i|d)(?:\$v=(?:16|19))?)\$m=([1-9]\d{0,6}),(?:t=([1-9]\d?),p=([1-9]\d?)|p=([1-9]\d?),t=([1-9]\d?))$/
/** The prefix, a salt of at least 8 bytes and a tag of at least 12. Anything shorter is no password hash. */
const argon2Hash = /^(\$argon2.*)\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,172}$/
const bcryptPrefix = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])$/
const bcryptHash = /^(\$2[aby]\$\d\d)\$[./A-Za-z0-9]{53}$/

/** bcrypt ignores bytes after the 72nd, and some implementations those after a NUL. So a longer text may be the password. */
const maxBcryptBytes = 72

/** The scheme of a stored hash; `null` for a text that no password matches, such as a hash above `greatestCost`. */
export function schemeOfHash(hash: string): HashScheme | null {
  const prefix = prefixOf(hash)
  return prefix === null ? null : schemeOfPrefix(prefix)
}

const prefixOf = (hash: string): string | null => argon2Hash.exec(hash)?.[1] ?? bcryptHash.exec(hash)?.[1] ?? null

/** The scheme of a prefix that a user store reports; `null` for an unknown one, and for a cost above `greatestCost`. */
export function schemeOfPrefix(prefix: string): HashScheme | null {
  const trimmed = prefix.replace(/\$$/, '')
  const parameters = argon2Prefix.exec(trimmed)
  if (parameters !== null) {
    const [, algorithm, memoryKiB, t1, p1, p2, t2] = parameters
    const lanes = Number(p1 ?? p2)
    const passes = Number(t1 ?? t2)
    const cost = Number(memoryKiB) * passes
    // RFC 9106 section 3.1: at least eight blocks per lane.
    if (Number(memoryKiB) > greatestCost.memoryKiB || Number(memoryKiB) < 8 * lanes) return null
    if (cost > greatestCost.memoryKiBTimesPasses || lanes > greatestCost.lanes) return null
    return argon2Scheme(`${algorithm}$m=${memoryKiB},t=${passes},p=${lanes}`, lanes, cost)
  }
  const rounds = bcryptPrefix.exec(trimmed)?.[1]
  if (rounds === undefined || Number(rounds) > greatestCost.bcrypt) return null
  return bcryptScheme(trimmed, Number(rounds))
}

/** The dearest scheme of each algorithm and number of lanes. So the number of costs in a store does not matter. */
export function dearestOf(schemes: readonly HashScheme[]): readonly HashScheme[] {
  const dearest = new Map<string, HashScheme>()
  for (const scheme of schemes) {
    const kind = `${scheme.algorithm} ${scheme.lanes}`
    if ((dearest.get(kind)?.cost ?? 0) < scheme.cost) dearest.set(kind, scheme)
  }
  return [...dearest.values()]
}

/** The objection to a hash that counts as no password, in words; `null` for none. */
export function objectionToHash(hash: string): string | null {
  if (schemeOfHash(hash) !== null) return null
  const prefix = prefixOf(hash)
  if (prefix === null) return 'the hash is neither argon2 nor bcrypt'
  return `the cost of the hash is above the limit, or no cost (${prefix})`
}

function argon2Scheme(prefix: string, lanes: number, cost: number): HashScheme {
  return {
    prefix,
    lanes,
    algorithm: 'argon2',
    cost,
    readsAll: () => true,
    verify: (password, hash) => argon2.verify(hash, password),
    dummy: () => phcString(prefix, randomBytes(saltBytes), randomBytes(tagBytes)),
  }
}

function bcryptScheme(prefix: string, cost: number): HashScheme {
  return {
    prefix,
    lanes: 1,
    algorithm: 'bcrypt',
    cost,
    readsAll: (password) => Buffer.byteLength(password) < maxBcryptBytes && !password.includes('\0'),
    async verify(password, hash) {
      const { default: bcrypt } = await import('bcrypt')
      // `$2y$` is PHP's name for `$2b$`.
      return bcrypt.compare(password, hash.replace(/^\$2y/, '$2b'))
    },
    dummy() {
      // 22 characters of salt, whose last bits are unused, and 31 characters of hash.
      return `${prefix}$${randomBytes(16).toString('hex').slice(0, 21)}.${randomBytes(16).toString('hex').slice(0, 31)}`
    },
  }
}

/** The hash in the spelling of libargon2, which other programs read (PHC string format). */
function phcString(prefix: string, salt: Buffer, tag: Buffer): string {
  return `${prefix}$${unpadded(salt)}$${unpadded(tag)}`
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
