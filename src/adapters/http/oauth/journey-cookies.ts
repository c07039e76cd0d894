import { journeySeconds } from '../../../application/oauth/journey.ts'
import type { Cookie } from '../reply.ts'
import { cookiesOf, cookieValue } from '../transports/cookie-header.ts'

/**
 * Each browser has its journeys in cookies, one for each, so that several tabs work. No other browser has them: otherwise an attacker
 * could let a victim finish the attacker's journey (CVE-2025-68481).
 */
export interface JourneyCookies {
  begin(state: string, sealed: string, header: string | undefined): readonly Cookie[]
  valueOf(state: string, header: string | undefined): string | null
  /** The cookies to remove when a journey ends; none for a state that cannot be part of a cookie's name. */
  end(state: string): readonly Cookie[]
}

/**
 * The names and values of all journeys of a browser, beside the newest: about six. Abandoned ones stay for ten minutes. More of them
 * would make the headers too long.
 */
const mostBytes = 3072

/**
 * All tenants of a host share the cookies and their number. The names differ by the state, which is random.
 *
 * @param isSecure whether browsers use TLS or loopback, where they keep Secure cookies
 */
export function journeyCookies(isSecure: boolean): JourneyCookies {
  const prefix = `${isSecure ? '__Host-' : ''}oauth-`
  const nameFor = (state: string): string => `${prefix}${state.slice(0, 16).replace(/[^\w-]/g, '')}`
  const cookie = (name: string, value: string, maxAgeSeconds: number): Cookie => ({
    name,
    value,
    maxAgeSeconds,
    path: '/',
    httpOnly: true,
    secure: isSecure,
    sameSite: 'lax', // browsers send it with the redirect of the provider
  })

  return {
    begin(state, sealed, header) {
      const started = cookie(nameFor(state), sealed, journeySeconds)
      let bytes = started.name.length + sealed.length
      // Browsers send older cookies first (RFC 6265 section 5.4).
      const forgotten = cookiesOf(header, prefix)
        .toReversed()
        .filter(([name, value]) => {
          bytes += name.length + value.length
          return bytes > mostBytes
        })
      return [...forgotten.map(([name]) => cookie(name, '', 0)), started]
    },
    valueOf: (state, header) => cookieValue(header, nameFor(state)),
    end(state) {
      const name = nameFor(state)
      return name === prefix ? [] : [cookie(name, '', 0)]
    },
  }
}
