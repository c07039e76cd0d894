import { openSeconds } from '../../../application/single-use/open-share.ts'
import type { Cookie } from '../reply.ts'
import { cookieNames, cookieValue } from '../transports/cookie-header.ts'

/**
 * Binds each journey to the browser that began it, by a cookie of its own. Otherwise an attacker could let a victim finish the
 * attacker's journey (CVE-2025-68481).
 */
export interface JourneyCookies {
  begin(state: string, value: string, header: string | undefined): readonly Cookie[]
  valueOf(state: string, header: string | undefined): string | null
  /** The cookies to remove when a journey ends; none for a state that cannot be part of a cookie's name. */
  end(state: string): readonly Cookie[]
}

/** Abandoned journeys leave their cookies for ten minutes. More of them would make the headers too long. */
const maxJourneys = 8

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
    begin(state, value, header) {
      const left = cookieNames(header, prefix)
      const forgotten = left.length < maxJourneys ? [] : left
      return [...forgotten.map((name) => cookie(name, '', 0)), cookie(nameFor(state), value, openSeconds)]
    },
    valueOf: (state, header) => cookieValue(header, nameFor(state)),
    end(state) {
      const name = nameFor(state)
      return name === prefix ? [] : [cookie(name, '', 0)]
    },
  }
}
