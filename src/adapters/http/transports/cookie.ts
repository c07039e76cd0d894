import type { Cookie } from '../reply.ts'
import { cookieValue } from './cookie-header.ts'
import type { Transport } from './transport.ts'

/** `maxAgeSeconds` only bounds how long a browser keeps the cookie. The service decides when the credential ends. */
type CookieAttributes = Omit<Cookie, 'value'>

export function cookieTransport(attributes: CookieAttributes): Transport {
  return {
    read: ({ cookie }) => cookieValue(cookie, attributes.name),
    deliver: ({ issued }) => ({ status: 204, cookies: [{ ...attributes, value: issued.value }] }),
    clear: () => ({ status: 204, cookies: [{ ...attributes, value: '', maxAgeSeconds: 0 }] }),
    isAmbient: true,
    replies: { 204: { description: `Logged in: the session is in the cookie \`${attributes.name}\``, body: null } },
    securityScheme: () => ({ type: 'apiKey', in: 'cookie', name: attributes.name }),
  }
}

/** The conflicts between the options of a cookie. */
export function objectionsToCookie({ name, secure, sameSite, path, domain }: Omit<CookieAttributes, 'maxAgeSeconds'>) {
  const found: { option: string; message: string }[] = []
  // RFC 6265bis section 4.1.3; browsers ignore the case of the prefix (section 5.7).
  const prefix = /^__(host|secure)-/i.exec(name)?.[1]?.toLowerCase()
  if (prefix !== undefined && !secure) {
    found.push({ option: 'secure', message: `must be true: the cookie's name starts with __${title(prefix)}-` })
  }
  if (prefix === 'host' && path !== '/') {
    found.push({ option: 'path', message: "must be /: the cookie's name starts with __Host-" })
  }
  if (prefix === 'host' && domain !== undefined) {
    found.push({ option: 'domain', message: "must not be given: the cookie's name starts with __Host-" })
  }
  if (prefix === undefined && sameSite === 'none' && !secure) {
    found.push({ option: 'secure', message: 'must be true: browsers refuse sameSite none without it' })
  }
  return found
}

function title(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
