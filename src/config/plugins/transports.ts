import Type from 'typebox'
import { bearerTransport } from '../../adapters/http/transports/bearer.ts'
import { cookieTransport } from '../../adapters/http/transports/cookie.ts'
import { type OptionsOf, part } from './plugin.ts'

interface Login {
  /** The time for which a browser may keep the credential. */
  readonly maxAgeSeconds: number
}

const bearer = part({ kind: 'bearer', options: {}, build: (_options, _login: Login) => bearerTransport })

const cookie = part({
  kind: 'cookie',
  options: {
    name: Type.String({
      // A token of RFC 9110 section 5.6.2.
      pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$",
      expects: 'a cookie name: letters, digits, - and _, at most 64',
      default: '__Host-session',
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
  },
  build: (options, { maxAgeSeconds }: Login) => cookieTransport({ ...options, maxAgeSeconds }),
})

/** The conflicts between the options of a cookie. */
export function objectionsToCookie({ name, secure, sameSite, path, domain }: OptionsOf<typeof cookie>) {
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

/** Every transport of a credential. */
export const transports = [bearer, cookie] as const
