import type { IncomingMessage } from 'node:http'
import { type LevelNeeds, requireLevel } from '../../../application/factors/level.ts'
import { isBrowserOfSuperuser } from '../../../application/rights.ts'
import type { Authenticated } from '../../../application/sign-in/authenticate.ts'
import { type FreshLoginNeeds, requireRecentLogin } from '../../../application/sign-in/fresh-login.ts'
import { hasFactor } from '../../../domain/factors.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { admitting } from '../pipeline/client-address.ts'

interface Needs extends FreshLoginNeeds, LevelNeeds {
  /** The settings `admin`. */
  readonly settings: { readonly enabled: boolean; readonly port?: number; readonly allow: readonly string[] }
  readonly trustedProxies: readonly string[] | undefined
  /** The port of the console; `null`: it is at the port of the service. */
  readonly port: number | null
  /** Whether other machines reach the service. */
  readonly isPublic: boolean
}

/** The rules of requests of superusers that depend on the console. */
export interface Administration {
  reachesConsole(request: IncomingMessage): boolean
  /** Refuses a request to a route for superusers by one of them. */
  requireSuperuser(by: Authenticated, request: IncomingMessage, isChange: boolean): void
  /** Why a superuser gets no other credential by the login in this browser, which is too weak or too old; `null` otherwise. */
  lackOf(by: Authenticated): 'factor' | 'login' | null
}

/**
 * While the console is on, the cookie of a superuser is worth more to a thief: any browser on that desk is one click away from every
 * account. So changes by cookie need a recent login, and at a public address all requests by cookie need two factors.
 */
export function administration(needs: Needs): Administration {
  const { settings, trustedProxies, port, isPublic } = needs
  const isAdmitted = admitting(settings.allow, trustedProxies)
  const isConcerned = (by: Authenticated): boolean => settings.enabled && isBrowserOfSuperuser(by)
  function requireBrowser(by: Authenticated, isChange: boolean): void {
    if (isPublic) requireLevel(needs, by, 2)
    if (isChange) requireRecentLogin(needs, by)
  }
  return {
    reachesConsole: (request) => (port === null || request.socket.localPort === port) && isAdmitted(request),
    requireSuperuser(by, request, isChange) {
      if (!isAdmitted(request)) throw new Refusal('FORBIDDEN')
      if (isConcerned(by)) requireBrowser(by, isChange)
    },
    lackOf(by) {
      if (!isConcerned(by)) return null
      try {
        requireBrowser(by, true)
        return null
      } catch (thrown) {
        if (!(thrown instanceof Refusal)) throw thrown
        return thrown.code === 'SECOND_FACTOR_REQUIRED' && !hasFactor(by.user) ? 'factor' : 'login'
      }
    },
  }
}
