import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

let common: ReadonlySet<string> | null = null

/** The service's own name (ASVS 6.2.11). */
const ownName = 'portcullis'

/**
 * Whether `lowerCased` is one of some 49 000 passwords that attackers try first (NIST SP 800-63B-4 section 3.1.1.2,
 * ASVS 6.2.4), a repeated character, a row such as `abcdefgh`, or our own name. The first call reads the list, which
 * takes about 15 ms. So call it once at the start.
 */
export function isCommonPassword(lowerCased: string): boolean {
  common ??= new Set(readList())
  return lowerCased === ownName || isRow(lowerCased) || common.has(lowerCased)
}

/**
 * Whether each character equals, follows or precedes the one before it. A list cannot contain such rows in every length.
 */
function isRow(text: string): boolean {
  const signs = Array.from(text, (sign) => sign.codePointAt(0) ?? 0)
  const steps = new Set(signs.slice(1).map((sign, at) => sign - (signs[at] ?? 0)))
  return steps.size === 1 && [-1, 0, 1].some((step) => steps.has(step))
}

/** The package's plain list. Its entry point would unpack every dictionary, and `require` would keep a second copy. */
function readList(): string[] {
  const path = createRequire(import.meta.url).resolve('@zxcvbn-ts/language-common/src/passwords.json')
  return JSON.parse(readFileSync(path, 'utf8'))
}
