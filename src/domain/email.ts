declare const checked: unique symbol

/** A checked address in its owner's spelling: local part in NFC, domain in lower case and Unicode. */
export type Email = string & { readonly [checked]: 'Email' }

/** Equal for all spellings of an address: local part in lower case, domain in ASCII (punycode, RFC 3492). */
export type EmailKey = string & { readonly [checked]: 'EmailKey' }

export type ParsedEmail = { readonly email: Email } | { readonly objection: string }

const maxAddressBytes = 254 // RFC 5321 section 4.5.3.1.3, less the angle brackets
const maxLocalBytes = 64 // RFC 5321 section 4.5.3.1.1
const maxLabelLength = 63 // RFC 1035 section 2.3.4
/** Of a text that may be an address: NFC makes fewer characters, but never that few. Normalisation takes quadratic time. */
const maxTypedLength = 2 * maxAddressBytes

/** The specials of RFC 5322, and space: in a local part they need quotes, which we refuse. */
const specials = /[\s"(),:;<>@[\\\]]/u
/** Controls, format characters (bidi), surrogates, private use, unassigned; separators, characters without width. */
const invisible = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u
/** UTS #46 maps capital letters to small ones, but in Cherokee it maps small letters to capital ones. */
const capital = /(?!\p{Script=Cherokee})\p{Lu}/u
const asciiLabel = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/

/** Characters that people copy along with an address. */
const outer = /[\s\p{White_Space}\p{Bidi_Control}]/u

const notAllowed = 'The part before the @-sign contains characters that are not allowed.'

const bytes = (text: string): number => new TextEncoder().encode(text).length

/**
 * Normalises before it checks. Otherwise a character that normalisation turns into an `@` would get through
 * (GHSA-7rqj-j65f-68wh, CWE-180).
 *
 * @param domainToUnicode decodes a domain's punycode labels for display (UTS #46)
 */
export function parseEmail(text: string, domainToUnicode: (ascii: string) => string): ParsedEmail {
  const typed = withoutOuterMarks(text)
  const tooLong = { objection: `The email address is too long (at most ${maxAddressBytes} bytes).` }
  if (typed.length > maxTypedLength) return tooLong
  const parts = typed.split('@')
  if (parts.length < 2) return { objection: 'An email address must have an @-sign.' }
  if (parts.length > 2) return { objection: 'An email address must have exactly one @-sign.' }
  const [rawLocal = '', rawDomain = ''] = parts

  const local = rawLocal.normalize('NFC')
  const localObjection = objectionToLocalPart(local)
  if (localObjection !== null) return { objection: localObjection }

  const ascii = domainToAscii(rawDomain)
  if (typeof ascii !== 'string') return ascii

  const unicode = domainToUnicode(ascii)
  // The shown domain must have the same key as the given one.
  const email = `${local}@${hostname(unicode) === ascii ? unicode : ascii}`
  if (bytes(email) > maxAddressBytes || bytes(`${local}@${ascii}`) > maxAddressBytes) return tooLong
  return { email: email as Email }
}

/** Whether `value` is an address in the form that `parseEmail` returns, or the same with its domain in punycode. */
export function isEmail(value: unknown): value is Email {
  if (typeof value !== 'string' || value !== withoutOuterMarks(value)) return false
  const domain = value.slice(value.lastIndexOf('@') + 1)
  const parsed = parseEmail(value, () => domain)
  return 'email' in parsed && parsed.email === value && domain === domain.normalize('NFKC') && !capital.test(domain)
}

/** Removes white space and bidi marks. Takes linear time: a pattern for trailing spaces would take quadratic time. */
export function withoutOuterMarks(text: string): string {
  let start = 0
  let end = text.length
  while (outer.test(text.charAt(start))) start++
  while (end > start && outer.test(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

/** The key of an address, equal for all spellings of it. */
export function emailKey(email: Email): EmailKey {
  const at = email.lastIndexOf('@')
  return `${folded(email.slice(0, at))}@${hostname(email.slice(at + 1)) ?? ''}` as EmailKey
}

/** Equal for all spellings of a text. `toLowerCase` turns Σ into ς at the end of a word and into σ elsewhere; here it is always σ. */
export function folded(text: string): string {
  return text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

/**
 * The objection to `email` as a new address; `null` for none. Users who have such an address keep it.
 *
 * Users cannot distinguish characters that NFKC replaces, such as `ﬁ` or a fullwidth letter. Some mail servers deliver the
 * other addresses to another mailbox: they decode RFC 2047, or read `%` and `!` as a route (RFC 5321 section 5.1, appendix F.2).
 */
export function objectionToNewAddress(email: Email): string | null {
  const local = localPart(email)
  if (bytes(local) > maxLocalBytes) return `The part before the @-sign is too long (at most ${maxLocalBytes} bytes).`
  if (local !== local.normalize('NFKC')) return notAllowed
  return /[%!]|=\?.*\?=/.test(local)
    ? 'The part before the @-sign contains characters that some mail servers read as another address.'
    : null
}

/** Equal for all addresses that differ only after a `+`, because many servers deliver them to one mailbox. */
export function mailboxKey(account: EmailKey): string {
  return account.replace(/\+[^@]*/, '+')
}

export function localPart(email: Email): string {
  return email.slice(0, email.lastIndexOf('@'))
}

function objectionToLocalPart(local: string): string | null {
  if (local === '') return 'There must be something before the @-sign.'
  // A program that normalises the address by NFKC must not find an `@` in it.
  if ([local, local.normalize('NFKC')].some((form) => specials.test(form) || invisible.test(form))) return notAllowed
  if (/^\p{M}/u.test(local)) return 'The part before the @-sign starts with a combining character.'
  if (local.startsWith('.') || local.endsWith('.') || local.includes('..')) {
    return 'The part before the @-sign has a period at its start, at its end, or two in a row.'
  }
  return null
}

function domainToAscii(domain: string): string | { objection: string } {
  if (domain === '') return { objection: 'There must be something after the @-sign.' }
  const invalid = { objection: 'The part after the @-sign is not a valid domain name.' }
  if (domain.length > maxAddressBytes || invisible.test(domain)) return invalid
  const ascii = hostname(domain)
  if (ascii === null) return invalid
  const labels = ascii.split('.')
  if (!labels.every((label) => label.length <= maxLabelLength && asciiLabel.test(label))) return invalid
  if (labels.length < 2) return { objection: 'The part after the @-sign is not valid. It should have a period.' }
  // WHATWG URL reads a host that ends in a number as an IPv4 address, and no top-level domain is a number.
  if (/^\d+$/.test(labels.at(-1) ?? '')) return invalid
  return ascii
}

/** A label and its punycode. */
const unicodeLabel = { label: 'ü.', ascii: 'xn--tda.' }

/**
 * UTS #46 ToASCII as the WHATWG URL standard applies it to hosts; `null` for an invalid host. Node 24 and 26 do not check
 * the punycode of a domain that is all ASCII (`xn--a.example`). `unicodeLabel` before the domain makes them check.
 */
function hostname(domain: string): string | null {
  if (/[/?#@:%[\]\\]/.test(domain) || domain.endsWith('.')) return null
  try {
    return new URL(`http://${unicodeLabel.label}${domain}/`).hostname.slice(unicodeLabel.ascii.length)
  } catch {
    return null
  }
}
