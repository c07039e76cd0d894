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
