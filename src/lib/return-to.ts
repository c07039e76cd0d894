/** The lengths in characters of a URL. An address of our own may contain the request of an app. */
const longestAddress = 512
const longestOwnAddress = 2048
/** Begins like a URL or a path. Browsers drop control characters and read \ as /, so an address could hide its target. */
const plainAddress = /^(https?:\/\/|\/(?!\/))[^\\\s\p{Cc}]*$/iu

/** The places where people may be sent back to. */
export interface ReturnRules {
  /** The origin of the service, where paths lead. */
  readonly ownOrigin: string
  readonly allowedOrigins: readonly string[]
}

/** The absolute form of an address to go back to, or `null` unless its origin is our own or allowed (CWE-601). */
export function checkedReturn(given: string | null, { ownOrigin, allowedOrigins }: ReturnRules): string | null {
  if (given === null || !plainAddress.test(given)) return null
  if (!URL.canParse(given, ownOrigin)) return null
  const url = new URL(given, ownOrigin)
  if (url.username !== '' || url.password !== '') return null
  if (url.origin === ownOrigin) return url.href.length > longestOwnAddress ? null : url.href
  return allowedOrigins.includes(url.origin) && url.href.length <= longestAddress ? url.href : null
}
