import type { Cookie } from '../reply.ts'
import { cookieNames, cookieValue } from '../transports/cookie-header.ts'

/**
 * Ties each journey to a provider to the browser that began it, by a cookie of its own: a state that somebody else
 * began, or that is brought back by another browser, is worth nothing (CVE-2025-68481).
 */
export interface OAuthBrowser {
  /** The cookies to set when a journey begins. */
  begin(state: string, value: string, header: string | undefined): readonly Cookie[]
  /** The value that was set for this state. */
  valueOf(state: string, header: string | undefined): string | null
  /** The cookies to remove when it has ended: none, of a state that can name no cookie. */
  end(state: string): readonly Cookie[]
}

/** Journeys that were never ended leave their cookies for ten minutes; so many at the most, or headers grow too long. */
const maxJourneys = 8

/**
 * @param isSecure whether browsers reach us by TLS or on loopback, where they keep Secure cookies
 * @param owner tells apart the cookies of several tenants under one host
 */
export function oauthBrowser(isSecure: boolean, lifetimeSeconds: number, owner = ''): OAuthBrowser {
  const prefix = `${isSecure ? '__Host-' : ''}oauth-${owner === '' ? '' : `${owner}.`}`
  const nameFor = (state: string): string => `${prefix}${state.slice(0, 16).replace(/[^\w-]/g, '')}`
  const cookie = (name: string, value: string, maxAgeSeconds: number): Cookie => ({
    name,
    value,
    maxAgeSeconds,
    path: '/',
    httpOnly: true,
    secure: isSecure,
    sameSite: 'lax', // sent along when the provider's redirect brings the browser back
  })

  return {
    begin(state, value, header) {
      const left = cookieNames(header, prefix)
      const forgotten = left.length < maxJourneys ? [] : left
      return [...forgotten.map((name) => cookie(name, '', 0)), cookie(nameFor(state), value, lifetimeSeconds)]
    },
    valueOf: (state, header) => cookieValue(header, nameFor(state)),
    end(state) {
      const name = nameFor(state)
      return name === prefix ? [] : [cookie(name, '', 0)]
    },
  }
}
