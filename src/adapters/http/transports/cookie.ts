import type { Cookie } from '../reply.ts'
import { cookieValue } from './cookie-header.ts'
import type { Transport } from './transport.ts'

/** What a cookie is besides its value. The credential's own end is judged by the service, not by the browser. */
export type CookieAttributes = Omit<Cookie, 'value'>

export function cookieTransport(attributes: CookieAttributes): Transport {
  return {
    read: ({ cookie }) => cookieValue(cookie, attributes.name),
    deliver: (credential) => ({ status: 204, cookies: [{ ...attributes, value: credential }] }),
    clear: () => ({ status: 204, cookies: [{ ...attributes, value: '', maxAgeSeconds: 0 }] }),
    isAmbient: true,
    replies: { 204: { description: `Logged in: the session is in the cookie \`${attributes.name}\``, body: null } },
    securityScheme: () => ({ type: 'apiKey', in: 'cookie', name: attributes.name }),
  }
}
