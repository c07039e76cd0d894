import { percentDecoded } from './percent-decoded.ts'

/** White space, characters without width, and `=`, which stays of a soft line break (RFC 2045 section 6.7). */
const noise = /[\s=\u00ad\u200b-\u200d\u2060\ufeff]+/gu

/** `3D` stays of a quoted-printable `=`. A token has 43 characters of base64url, so further ones are not part of it. */
const inLink = /[#?&]token(?:3D)?([\w-]{43})/
const alone = /^(?:3D)?([\w-]{43})(?![\w-])/

/**
 * The token of a mailed link, as `#token=…`, or alone. Reads links that a mail program has altered: an encoded `#` or `=`,
 * characters after the token, soft line breaks. `null` if no whole token is in the text.
 */
export function tokenInLink(text: string): string | null {
  const once = percentDecoded(text) ?? text
  const plain = (percentDecoded(once) ?? once).replace(noise, '')
  return (inLink.exec(plain) ?? alone.exec(plain))?.[1] ?? null
}
