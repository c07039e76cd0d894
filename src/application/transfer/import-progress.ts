/** How many of each there were. */
export interface ImportCounts {
  /** New users, users who changed in the source since an earlier import, and users who did not. */
  readonly stored: number
  readonly replaced: number
  readonly unchanged: number
  /** Records of which nothing was stored. */
  readonly refused: number
  readonly links: number
  readonly sessions: number
  readonly endedIds: number
  /** Users with a password that the first sign-in through a provider removes, because nobody knows who chose it. */
  readonly unprovedPasswords: number
}

export const noCounts: ImportCounts = {
  stored: 0,
  replaced: 0,
  unchanged: 0,
  refused: 0,
  links: 0,
  sessions: 0,
  endedIds: 0,
  unprovedPasswords: 0,
}

/** A record of which not everything was stored. */
export interface ImportProblem {
  readonly id: string | null
  readonly email: string | null
  readonly isStored: boolean
  /** In words for the operator. */
  readonly problems: readonly string[]
}

/** The state of an import behind some records. */
export interface ImportProgress {
  readonly cursor: string | null
  readonly counts: ImportCounts
  /** Equal for equal records, in any order: the sum of their digests modulo 2^256, in hexadecimal. */
  readonly digest: string
}

/** `sum` and these. */
export function added(sum: ImportCounts, counted: Partial<ImportCounts>): ImportCounts {
  const names = Object.keys(noCounts) as (keyof ImportCounts)[] // safe: the names of the type
  return { ...sum, ...Object.fromEntries(names.map((name) => [name, sum[name] + (counted[name] ?? 0)])) }
}

/** The sum of two numbers modulo 2^256, as 64 hexadecimal digits. */
export function sumOf(one: string, other: string): string {
  const sum = BigInt.asUintN(256, BigInt(`0x${one || '0'}`) + BigInt(`0x${other}`))
  return sum.toString(16).padStart(64, '0')
}
