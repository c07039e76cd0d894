import { bearerTransport } from '../../adapters/http/transports/bearer.ts'
import { cookieOptions, cookieTransport } from '../../adapters/http/transports/cookie.ts'
import { part } from './plugin.ts'

interface Login {
  /** The time for which a browser may keep the credential. */
  readonly maxAgeSeconds: number
}

const bearer = part({ kind: 'bearer', options: {}, build: (_options, _login: Login) => bearerTransport })

const cookie = part({
  kind: 'cookie',
  options: cookieOptions,
  build: (options, { maxAgeSeconds }: Login) => cookieTransport({ ...options, maxAgeSeconds }),
})

/** Every transport of a credential. */
export const transports = [bearer, cookie] as const
