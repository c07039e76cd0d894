import { objectionsToFormer } from '../../../adapters/credentials/former-options.ts'
import { costObjection } from '../../../adapters/crypto/cost-bounds.ts'
import { secretObjection } from '../../../adapters/crypto/secret-objection.ts'
import { objectionsToFieldSettings } from '../../../adapters/fields/field-settings.ts'
import { objectionsToApps } from '../../../adapters/http/apps/app-settings.ts'
import { pagePaths } from '../../../adapters/http/routes.ts'
import { objectionsToCookie } from '../../../adapters/http/transports/cookie.ts'
import { parseMailUrl } from '../../../adapters/mail/mail-url.ts'
import { storeRoles } from '../../../adapters/stores/store-backend.ts'
import { basePathOf } from '../../../lib/base-path.ts'
import { isLoopback, leadsToLoopback } from '../../../lib/loopback.ts'
import { objectionToStore } from '../../plugins/stores.ts'
import { canHavePages, isPublic } from '../defaults.ts'
import { mountsOf } from '../mounts.ts'
import type { Settings } from '../schema/schema.ts'
import { enabledOf } from '../schema/tree.ts'

/** A fault at `path`. If this setting or an `involved` one has a fault already, that may be the cause. */
export type Objection = readonly [path: string, message: string, involved?: readonly string[]]

/** Applies the rules across settings. Each leaf of `settings` matches its schema. */
export function* objectionsTo(settings: Settings): Generator<Objection> {
  const { http, metrics, secret, formerSecrets } = settings
  if (http.publicUrl === undefined && !isLoopback(http.host)) {
    yield ['http.publicUrl', 'is required unless http.host is a loopback address', ['http.host']]
  }
  const share = [http.host, metrics.host].some((host) => ['0.0.0.0', '::'].includes(host)) || http.host === metrics.host
  if (share && metrics.port === http.port && http.port !== 0) {
    yield ['metrics.port', 'must differ from http.port', ['http.port']]
  }
  const objection = secret === null ? null : secretObjection(secret)
  if (objection !== null) yield ['secret', objection]
  for (const [at, former] of formerSecrets.entries()) {
    const reason = secretObjection(former)
    if (reason !== null) yield ['formerSecrets', `item ${at + 1} ${reason}`]
  }
  yield* judgeStores(settings)
  yield* judgeBackends(settings)
  yield* judgeProviders(settings)
  yield* judgeVerification(settings)
  yield* judgeFactors(settings)
  yield* judgePages(settings)
  yield* judgePaths(settings)
  yield* judgeBase(settings)
  yield* judgePasswords(settings)
  yield* judgeMail(settings)
  yield* judgePasskeys(settings)
  for (const [option, message] of objectionsToFormer(settings.compat, new Date())) yield [`compat.${option}`, message]
  yield* objectionsToFieldSettings(settings)
  yield* objectionsToApps(settings)
}

/** The host of the pages. */
export function hostOf({ publicUrl = 'http://localhost' }: Pick<Settings['http'], 'publicUrl'>): string {
  return new URL(publicUrl).hostname
}

/** Browsers refuse a domain that is not above the page. */
function* judgePasskeys({ http, security: { passkeyDomain: domain } }: Settings): Generator<Objection> {
  if (domain === undefined) return
  const host = hostOf(http)
  if (host === domain || host.endsWith(`.${domain}`)) return
  yield ['security.passkeyDomain', `must be ${host} or a domain above it`, ['http.publicUrl']]
}

function* judgeStores({ stores }: Settings): Generator<Objection> {
  for (const role of storeRoles) {
    const store = stores[role]
    const objection = objectionToStore(store)
    if (objection === null) continue
    const { option, message } = objection
    // A role of the same kind inherits the address of the users, so a missing address is one fault.
    const users = store.kind === stores.users.kind ? ['stores.users.kind', `stores.users.${option}`] : []
    yield [`stores.${role}.${option}`, message, [`stores.${role}.kind`, ...users]]
  }
}

function* judgeBackends(settings: Settings): Generator<Objection> {
  const cookies = new Map<string, string>()
  for (const [name, { transport }] of enabledOf(settings.backends)) {
    const path = `backends.${name}.transport`
    const involved = Object.keys(transport).map((option) => `${path}.${option}`)
    if (transport.kind !== 'cookie') continue
    for (const { option, message } of objectionsToCookie(transport)) yield [`${path}.${option}`, message, involved]
    const other = cookies.get(transport.name)
    if (other === undefined) cookies.set(transport.name, `${path}.name`)
    else yield [`${path}.name`, `is the cookie of ${other} as well`, [other]]
  }
}

/** If every backend requires verification, a new user can never log in, and so never verify. */
function* judgeVerification({ verification, backends }: Settings): Generator<Objection> {
  const enabled = enabledOf(backends)
  if (!verification.requiresSession || enabled.length === 0) return
  if (enabled.some(([, { requiresVerification }]) => !requiresVerification)) return
  const message = 'needs a backend without requiresVerification, because users verify within a session'
  yield ['verification.requiresSession', message, ['backends']]
}

/** Nobody could add the factor that is demanded. */
function* judgeFactors({ security, routers }: Settings): Generator<Objection> {
  if (security.secondFactor === 'optional' || routers.factors.enabled) return
  const message = `cannot be ${security.secondFactor} while routers.factors.enabled is off, because nobody could add a factor: set routers.factors.enabled to true`
  yield ['security.secondFactor', message, ['routers.factors.enabled']]
}

function* judgeProviders(settings: Settings): Generator<Objection> {
  const { publicUrl, allowedOrigins } = settings.http
  for (const [name, provider] of enabledOf(settings.providers)) {
    const path = `providers.${name}`
    if (name in settings.backends) yield [path, `is the name of a backend as well`, [`backends.${name}`]]
    const backend = enabledOf(settings.backends).find(([one]) => one === provider.backend)?.[1]
    if (backend === undefined) yield [`${path}.backend`, 'must be the name of an enabled backend', ['backends']]
    for (const option of ['redirectUrl', 'redirectUrlAssociate'] as const) {
      const url = provider[option]
      if (url === undefined || isOurPage(url, publicUrl, allowedOrigins)) continue
      yield [`${path}.${option}`, 'must be a page of http.publicUrl or of one of http.allowedOrigins']
    }
  }
}

function* judgePages(settings: Settings): Generator<Objection> {
  const { enabled, logo, logoDark } = settings.pages
  if (enabled && !canHavePages(settings)) {
    const message =
      'needs an enabled backend with a cookie, and the router users; if that has requiresVerification, the backend needs it, too'
    yield ['pages.enabled', message, ['backends', 'routers']]
  }
  if (settings.admin.enabled && !enabled)
    yield ['admin.enabled', 'needs the account pages, by which superusers sign in', ['pages.enabled']]
  if (settings.admin.enabled && isPublic(settings.http) && !settings.routers.factors.enabled) {
    const message =
      'needs routers.factors.enabled, because superusers have to sign in with a second factor at a public address'
    yield ['admin.enabled', message, ['routers.factors.enabled']]
  }
  for (const [setting, file] of [
    ['pages.logo', logo],
    ['pages.logoDark', logoDark],
  ] as const) {
    if (file !== null && !/\.(svg|png|jpg|webp)$/.test(file)) yield [setting, 'must end in .svg, .png, .jpg or .webp']
  }
  if (logoDark !== null && logo === null) yield ['pages.logoDark', 'needs pages.logo, for the light theme']
}

/** Without a public URL the service listens on loopback, where it trusts every page of this machine. */
function isOurPage(page: string, publicUrl: string | undefined, allowedOrigins: readonly string[]): boolean {
  const url = new URL(page)
  if (allowedOrigins.includes(url.origin)) return true
  return publicUrl === undefined ? leadsToLoopback(url) : url.origin === new URL(publicUrl).origin
}

/** Refuses two operations on one path, in any case of letters: requests would never reach the second one. */
function* judgePaths(settings: Settings): Generator<Objection> {
  const owners = new Map<string, string>()
  const refused = new Set<string>()
  // The fault is that of a prefix, because other routes have fixed paths.
  const mounts = mountsOf(settings).toSorted((a, b) => Number(a.prefix !== '') - Number(b.prefix !== ''))
  for (const { setting, routes } of mounts) {
    for (const { method, path } of routes) {
      const key = `${method} ${path}`.toLowerCase().replace(/:\w+/g, ':')
      const owner = owners.get(key)
      if (owner === undefined) owners.set(key, setting)
      else if (!refused.has(setting))
        yield [setting, `puts ${method} ${path} on a path that ${owner} already uses`, [owner]]
      if (owner !== undefined) refused.add(setting)
    }
  }
}

/** A request whose path begins like a route would be ambiguous, because proxies may remove the path of the public URL. */
function* judgeBase(settings: Settings): Generator<Objection> {
  const { http, tenants } = settings
  const base = basePathOf(http.publicUrl).toLowerCase()
  if (base === '') return
  const known = [
    ...mountsOf(settings).flatMap(({ setting, routes }) => routes.map(({ path }) => ({ path, setting }))),
    ...Object.values(pagePaths).flatMap((paths) => paths.map((path) => ({ path, setting: 'the service itself' }))),
    ...(tenants.by === 'path' ? [{ path: tenants.pathPrefix, setting: 'tenants.pathPrefix' }] : []),
  ]
  const taken = known.find(({ path }) => `${path.toLowerCase()}/`.startsWith(`${base}/`))
  if (taken === undefined) return
  const message = `has the path ${base}, with which ${taken.path} of ${taken.setting} begins as well; choose another path`
  yield ['http.publicUrl', message, [taken.setting]]
}

function* judgePasswords({ passwords }: Settings): Generator<Objection> {
  const { memoryKiB, timeCost, parallelism, concurrency } = passwords
  const objection = costObjection({ memoryKiB, timeCost })
  if (objection !== null) {
    yield [`passwords.${objection.option}`, objection.message, ['passwords.memoryKiB', 'passwords.timeCost']]
  }
  if (concurrency !== undefined && concurrency < parallelism) {
    yield ['passwords.concurrency', 'must be at least passwords.parallelism', ['passwords.parallelism']]
  }
}

function* judgeMail({ mail, try: tryPage }: Settings): Generator<Objection> {
  const url = parseMailUrl(mail.url)
  if ('objection' in url) yield ['mail.url', url.objection]
  else if (url.kind === 'mailbox' && !tryPage.enabled) {
    yield [
      'mail.url',
      'cannot be mailbox: while try.enabled is off, because only /try shows the messages',
      ['try.enabled'],
    ]
  }
}
