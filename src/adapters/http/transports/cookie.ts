import Type from 'typebox'
import type { Cookie } from '../reply.ts'
import { cookieValue } from './cookie-header.ts'
import type { Transport } from './transport.ts'

/** `maxAgeSeconds` only bounds how long a browser keeps the cookie. The service decides when the credential ends. */
type CookieAttributes = Omit<Cookie, 'value'>

/** The settings of a cookie. */
export const cookieOptions = {
  name: Type.String({
    // A token of RFC 9110 section 5.6.2.
    pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$",
    expects: 'a cookie name: letters, digits, - and _, at most 64',
    default: '__Host-session',
    fastapiUsers: 'fastapiusersauth',
    description: 'Name of the cookie. A `__Host-` name makes browsers refuse a cookie that another host has set.',
  }),
  secure: Type.Boolean({ default: true, description: 'Browsers send the cookie only over HTTPS, and to localhost.' }),
  httpOnly: Type.Boolean({ default: true, description: 'Scripts of the page cannot read the cookie.' }),
  sameSite: Type.Enum(['lax', 'strict', 'none'], {
    default: 'lax',
    description:
      'With `none`, browsers also send the cookie with requests from other sites. The service still refuses such requests if they change something.',
  }),
  path: Type.String({
    pattern: '^/[!-:<-~]*$',
    expects: 'a path that starts with / and has no spaces and no ;',
    default: '/',
    description: 'Browsers send the cookie to paths below this one.',
  }),
  domain: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$',
      expects: 'a domain name without a leading dot',
      otherwise: 'the host alone',
      description: 'Shares the cookie with the subdomains of this domain. Not possible with a `__Host-` name.',
    }),
  ),
}

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

/** Warnings about a cookie of a public service. `cookie` names it. */
export function doubtsOfCookie(
  { secure, httpOnly }: Pick<CookieAttributes, 'secure' | 'httpOnly'>,
  cookie: string,
  publicUrl: string | undefined,
): string[] {
  const isDropped = secure && !publicUrl?.startsWith('https:')
  return [
    ...(isDropped ? [`browsers will drop ${cookie}: it is Secure and http.publicUrl is not https`] : []),
    ...(secure ? [] : [`${cookie} is not Secure: browsers send it without encryption, too`]),
    ...(httpOnly ? [] : [`${cookie} is not HttpOnly: every script in the page can read it`]),
  ]
}

function title(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
