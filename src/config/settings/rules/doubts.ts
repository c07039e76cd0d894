import { areSameSite } from '../../../adapters/addresses/registrable-domain.ts'
import { doubtsOfFormer } from '../../../adapters/credentials/former-options.ts'
import { doubtsOfCookie } from '../../../adapters/http/transports/cookie.ts'
import { parseMailUrl } from '../../../adapters/mail/mail-url.ts'
import { storeRoles } from '../../../adapters/stores/store-backend.ts'
import { isLoopback } from '../../../lib/loopback.ts'
import { isAppOrigin } from '../../../lib/origins.ts'
import { doubtOf } from '../../plugins/providers.ts'
import { pluginOf } from '../../plugins/stores.ts'
import { canHavePages, isLocal, isPublic } from '../defaults.ts'
import type { Source } from '../schema/fault.ts'
import type { Settings } from '../schema/schema.ts'
import { enabledOf } from '../schema/tree.ts'

/** Warnings about settings that are allowed but probably a mistake. */
export async function doubtsOf(settings: Settings): Promise<string[]> {
  return [
    ...doubtsOfStores(settings),
    ...(enabledOf(settings.backends).length === 0 ? ['backends: none is enabled, so nobody can log in'] : []),
    ...doubtsOfProxies(settings),
    ...doubtsOfProfile(settings),
    ...doubtsOfEmailChange(settings),
    ...doubtsOfCookies(settings),
    ...(await doubtsOfSites(settings)),
    ...doubtsOfProviders(settings),
    ...doubtsOfDevelopment(settings),
    ...doubtsOfTls(settings),
    ...doubtsOfFormer(settings.compat, new Date()),
    ...doubtsOfLinks(settings),
  ]
}

/** Warns of account pages that are off by default, because on loopback they are on. `sources` has each given setting. */
export function doubtsOfPages(settings: Settings, sources: ReadonlyMap<string, Source>): string[] {
  const { http, pages } = settings
  if (isLocal(http) || pages.enabled || sources.has('pages.enabled') || !canHavePages(settings)) return []
  return ['the account pages are off: set mail.url, or pages.enabled (false if you want none)']
}

/** Warns until the setting is given, because scripts that worked before a profile stop. */
export function doubtsOfFactors({ security }: Settings, sources: ReadonlyMap<string, Source>): string[] {
  if (security.secondFactor === 'optional' || sources.get('security.secondFactor') !== 'profile hardened') return []
  return [
    'security.secondFactor is superusers, by the profile hardened: logins of superusers by a password alone may only add a second factor, so scripts with such a login stop (docs/second-factors.md#scripts). Set it to superusers or optional to end this warning',
  ]
}

function doubtsOfStores({ stores }: Settings): string[] {
  const inClear = storeRoles.flatMap((role) =>
    ['url', 'directUrl'].flatMap((option) => {
      const { kind, [option]: url } = stores[role]
      const hosts = typeof url === 'string' ? (pluginOf(kind).hostsInClear?.(url) ?? []) : []
      return hosts.every((host) => isLoopback(host) || isNeighbour(host)) ? [] : [`stores.${role}.${option}`]
    }),
  )
  return [
    ...(stores.users.kind === 'memory'
      ? ['stores.users.kind is memory: all users are lost when the process ends']
      : []),
    ...(inClear.length === 0
      ? []
      : [`${inClear.join(', ')}: without TLS, so everybody on the network can read the traffic of these stores`]),
  ]
}

/** A name without a dot belongs to a private network, such as that of Docker Compose. */
function isNeighbour(host: string): boolean {
  return /^[a-z0-9_-]+$/i.test(host)
}

function doubtsOfProxies({ http, limits }: Settings): string[] {
  if (!limits.enabled || http.trustedProxies !== undefined || !isPublic(http)) return []
  return [
    'http.trustedProxies is not set: name the proxies in front of the service, or give [] if there is none. Without it, all users of a proxy on another machine count as one client, and users of a proxy on this machine have no limits by client',
  ]
}

function doubtsOfProfile({ http, security }: Settings): string[] {
  if (security.profile !== undefined || !isPublic(http)) return []
  return [
    'security.profile is not set: hardened is recommended for a public service (docs/configuration.md#profiles), compatible keeps the present defaults',
  ]
}

function doubtsOfEmailChange({ security, routers: { verify } }: Settings): string[] {
  if (!security.confirmEmailChange || verify.enabled) return []
  return ['security.confirmEmailChange is on, and the router verify is off: no route confirms a new address']
}

function doubtsOfProviders(settings: Settings): string[] {
  return enabledOf(settings.providers).flatMap(([name, provider]) => {
    const { backend, redirectUrl } = provider
    const doubt = doubtOf(provider)
    const doubts = doubt === null ? [] : [`providers.${name}.${doubt}`]
    if (settings.backends[backend]?.transport.kind !== 'bearer' || redirectUrl !== undefined) return doubts
    // After a redirect of the provider, the browser would show the bearer token as JSON, and no script would get it.
    return [
      ...doubts,
      `providers.${name}.backend is ${backend}: after the sign-in the browser shows a bearer token that no page can read. Choose a backend with a cookie, or set redirectUrl to a page that fetches the token (docs/providers.md)`,
    ]
  })
}

function doubtsOfDevelopment({ handlers, http }: Settings): string[] {
  if (isLocal(http) || !handlers.console) return []
  return ['handlers.console prints tokens: any reader of standard output can verify addresses and reset passwords']
}

/** The defaults of the links lead to the account pages. */
function doubtsOfLinks({ mail, pages }: Settings): string[] {
  if (mail.url === 'off' || mail.url === 'mailbox:' || pages.enabled) return []
  const missing = (['verify', 'reset'] as const).filter((name) => mail.links[name] === undefined)
  return missing.map(
    (name) => `mail.links.${name} is not set, and pages.enabled is off: links in messages lead nowhere`,
  )
}

function doubtsOfTls({ mail }: Settings): string[] {
  const url = parseMailUrl(mail.url)
  if (!('host' in url) || mail.requireTls !== false) return []
  if (isLoopback(url.host) || isNeighbour(url.host)) return []
  return [
    'mail.requireTls is off: everybody on the way to the mail server can read tokens, and the password of mail.url',
  ]
}

function doubtsOfCookies({ http, backends }: Settings): string[] {
  if (!isPublic(http)) return []
  return enabledOf(backends).flatMap(([name, { transport }]) =>
    transport.kind === 'cookie' ? doubtsOfCookie(transport, `the cookie of the backend ${name}`, http.publicUrl) : [],
  )
}

/** A front end on another site can log in, but its next request gets 401. */
async function doubtsOfSites({ http, backends }: Settings): Promise<string[]> {
  const publicUrl = http.publicUrl ?? 'http://localhost'
  const others: string[] = []
  for (const origin of http.allowedOrigins) {
    if (!isAppOrigin(origin) && !(await areSameSite(new URL(origin), new URL(publicUrl)))) others.push(origin)
  }
  return enabledOf(backends).flatMap(([name, { transport }]) => {
    if (others.length === 0 || transport.kind !== 'cookie' || transport.sameSite === 'none') return []
    return [
      `browsers do not send the cookie of the backend ${name} with requests from pages of ${others.join(', ')} (http.allowedOrigins), which is another site than ${publicUrl}: use one host name or domain for both, or a backend with bearer tokens`,
    ]
  })
}
