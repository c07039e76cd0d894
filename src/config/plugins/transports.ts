import Type from 'typebox'
import { bearerTransport } from '../../adapters/http/transports/bearer.ts'
import { cookieTransport } from '../../adapters/http/transports/cookie.ts'
import { part } from './plugin.ts'

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

/** Every transport of a credential. */
export const transports = [bearer, cookie] as const
