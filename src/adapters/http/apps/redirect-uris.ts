/**
 * The addresses on loopback IPs, whose port the request may choose, because a native app gets a free one from the system
 * (RFC 8252 section 7.3). `localhost` is not one of them: another program may answer for it (section 8.3).
 */
const portOnLoopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/

/** Whether the address of a request is a registered one. Text is compared, without any normalisation (RFC 9700 section 2.1). */
export function isRegistered(given: string, registered: readonly string[]): boolean {
  const found = registered.some((one) => withoutPort(one) === withoutPort(given))
  return found && URL.canParse(given) // no port is above 65535
}

function withoutPort(address: string): string {
  return address.replace(portOnLoopback, '$1')
}

/** A reverse domain name (RFC 8252 section 7.1). The dot keeps out `javascript:`, `data:` and all other known schemes. */
const appScheme = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:./

/** Whether an app may have this address: https, http on loopback, or the scheme of an app; without wildcard and fragment. */
export function isRedirectUri(text: string): boolean {
  if (!/^[!-~]{1,512}$/.test(text) || /[#*\\]/.test(text) || !URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  if (text.startsWith('https://')) return true
  if (protocol !== 'http:') return appScheme.test(text)
  return ['127.0.0.1', '[::1]', 'localhost'].includes(hostname) && text.startsWith(`http://${hostname}`)
}

/** Any program of the device may answer at another address, so people must agree there (RFC 8252 section 8.6). */
export function isHttps(redirectUri: string): boolean {
  return redirectUri.startsWith('https://')
}

/** The origins of the pages at these addresses. */
export function originsOf(redirectUris: readonly string[]): string[] {
  return redirectUris.filter((one) => /^https?:/.test(one)).map((one) => new URL(one).origin)
}
