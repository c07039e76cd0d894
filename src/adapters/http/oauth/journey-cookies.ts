import { oauthStateSeconds } from '../../../application/oauth/start-oauth.ts'
import type { Cookie } from '../reply.ts'
import { cookieNames, cookieValue } from '../transports/cookie-header.ts'

/**
 * Binds each journey to the browser that began it, by a cookie of its own. Otherwise an attacker could let a victim finish the
 * attacker's journey (CVE-2025-68481).
 */
export interface JourneyCookies {
  /** @param back the address to return to at the end */
  begin(state: string, value: string, back: string | null, header: string | undefined): readonly Cookie[]
  valueOf(state: string, header: string | undefined): string | null
  /** The address to return to. The browser may have changed it, so it must be checked again. */
  backOf(state: string, header: string | undefined): string | null
  /** The cookies to remove when a journey ends; none for a state that cannot be part of a cookie's name. */
  end(state: string): readonly Cookie[]
}

/** Abandoned journeys leave their cookies for ten minutes. More of them would make the headers too long. */
const maxJourneys = 8

/**
 * @param isSecure whether browsers use TLS or loopback, where they keep Secure cookies
 * @param owner distinguishes the cookies of several tenants on one host
 */
export function journeyCookies(isSecure: boolean, owner: string): JourneyCookies {
  const prefix = `${isSecure ? '__Host-' : ''}oauth-${owner === '' ? '' : `${owner}.`}`
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

  const partOf = (header: string | undefined, state: string, index: 0 | 1): string | null =>
    cookieValue(header, nameFor(state))?.split('.')[index] ?? null

  return {
    begin(state, value, back, header) {
      const left = cookieNames(header, prefix)
      const forgotten = left.length < maxJourneys ? [] : left
      // The value is base64url, which has no dot.
      const both = back === null ? value : `${value}.${Buffer.from(back).toString('base64url')}`
      return [...forgotten.map((name) => cookie(name, '', 0)), cookie(nameFor(state), both, oauthStateSeconds)]
    },
    valueOf: (state, header) => partOf(header, state, 0),
    backOf(state, header) {
      const back = partOf(header, state, 1)
      return back === null ? null : Buffer.from(back, 'base64url').toString()
    },
    end(state) {
      const name = nameFor(state)
      return name === prefix ? [] : [cookie(name, '', 0)]
    },
  }
}
