import { leastCosts } from '../../adapters/crypto/cost-bounds.ts'
import { parseMailUrl } from '../../adapters/mail/mail-url.ts'
import type { StoreBackend } from '../../adapters/stores/store-backend.ts'
import { isLoopback, leadsToLoopback } from '../../lib/loopback.ts'
import { objectionsTo } from '../plugins/plugin.ts'
import {
  associateOperations,
  backendOperations,
  operationsOf,
  providerOperations,
  routers,
  serviceOperations,
} from '../plugins/routers.ts'
import { stores as storeKinds } from '../plugins/stores.ts'
import { strategies } from '../plugins/strategies.ts'
import { transports } from '../plugins/transports.ts'
import { canHavePages, isLocal } from './defaults.ts'
import { secretObjection } from './master-secret.ts'
import { areSameSite } from './same-site.ts'
import type { Settings, StoreSettings } from './schema/schema.ts'
import { enabledOf } from './schema/tree.ts'

/** Adds a fault at `path`, unless this setting or an `involved` one has a fault already, which may be the cause. */
export type NoteFault = (path: string, message: string, involved?: readonly string[]) => void

/** Applies the rules across settings. Each leaf of `settings` matches its schema. */
export function judgeSettings(settings: Settings, note: NoteFault): void {
  const { http, secret } = settings
  if (http.publicUrl === undefined && !isLoopback(http.host)) {
    note('http.publicUrl', 'is required unless http.host is a loopback address', ['http.host'])
  }
  const objection = secret === null ? null : secretObjection(secret)
  if (objection !== null) note('secret', objection)
  judgeStores(settings, note)
  judgeBackends(settings, note)
  judgeProviders(settings, note)
  judgeVerification(settings, note)
  judgePages(settings, note)
  judgePaths(settings, note)
  judgePasswords(settings, note)
  judgeMail(settings, note)
}

/** Warnings about settings that are allowed but probably a mistake. */
export async function doubtsOf(settings: Settings): Promise<string[]> {
  return [
    ...doubtsOfStores(settings),
    ...(enabledOf(settings.backends).length === 0 ? ['backends: none is enabled, so that nobody can log in'] : []),
    ...doubtsOfProxies(settings),
    ...doubtsOfProfile(settings),
    ...doubtsOfEmailChange(settings),
    ...doubtsOfCookies(settings),
    ...(await doubtsOfSites(settings)),
    ...doubtsOfProviders(settings),
    ...doubtsOfDevelopment(settings),
    ...doubtsOfMail(settings),
  ]
}

function doubtsOfStores({ stores }: Settings): string[] {
  const inClear = Object.entries(stores).flatMap(([role, { kind, url }]) => {
    const hosts = url === undefined ? [] : (storeKinds.find((one) => one.kind === kind)?.hostsInClear?.(url) ?? [])
    return hosts.every((host) => isLoopback(host) || isNeighbour(host)) ? [] : [`stores.${role}.url`]
  })
  return [
    ...(stores.users.kind === 'memory' ? ['users are kept in memory: they are gone when the process ends'] : []),
    ...(inClear.length === 0
      ? []
      : [`${inClear.join(', ')}: without TLS, so everybody on the network can read the traffic of these stores`]),
  ]
}

/** A name without a dot belongs to a private network, such as that of Docker Compose. */
function isNeighbour(host: string): boolean {
  return /^[a-z0-9_-]+$/i.test(host)
}

function doubtsOfProxies({ http: { publicUrl, trustedProxies }, limits }: Settings): string[] {
  if (!limits.enabled || trustedProxies !== undefined) return []
  if (publicUrl === undefined || leadsToLoopback(new URL(publicUrl))) return []
  return [
    'http.trustedProxies is not set: name the proxies in front of the service, or give [] if there is none. Otherwise all users of a proxy elsewhere count as one client, and requests from loopback, as of a proxy on this machine, have no limits by client',
  ]
}

function doubtsOfProfile({ http: { publicUrl }, security }: Settings): string[] {
  if (security.profile !== undefined || publicUrl === undefined || leadsToLoopback(new URL(publicUrl))) return []
  return [
    'security.profile is not set: hardened is recommended for a public service (docs/configuration.md#profiles), compatible keeps the present defaults',
  ]
}

function doubtsOfEmailChange({ security, routers: { verify } }: Settings): string[] {
  if (!security.confirmEmailChange || verify.enabled) return []
  return ['security.confirmEmailChange is on, and the router verify is off: no route confirms a new address']
}

/** After a redirect of a provider, the browser would show the bearer token as JSON, and no script would get it. */
function doubtsOfProviders(settings: Settings): string[] {
  return enabledOf(settings.providers).flatMap(([name, { backend, redirectUrl }]) => {
    if (settings.backends[backend]?.transport.kind !== 'bearer' || redirectUrl !== undefined) return []
    return [`providers.${name} answers its callback with a bearer token, which no page can read: set its redirectUrl`]
  })
}

function doubtsOfDevelopment({ handlers, http }: Settings): string[] {
  if (isLocal(http) || !handlers.console) return []
  return ['handlers.console prints tokens: any reader of standard output can verify addresses and reset passwords']
}

function doubtsOfMail(settings: Settings): string[] {
  return [...doubtsOfTls(settings), ...doubtsOfLinks(settings)]
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

function doubtsOfCookies(settings: Settings): string[] {
  const { publicUrl } = settings.http
  if (publicUrl === undefined || leadsToLoopback(new URL(publicUrl))) return []
  return enabledOf(settings.backends).flatMap(([name, { transport }]) => {
    if (transport.kind !== 'cookie') return []
    const cookie = `the cookie of the backend ${name}`
    const isDropped = transport.secure && !publicUrl.startsWith('https:')
    return [
      ...(isDropped ? [`browsers will drop ${cookie}: it is Secure and http.publicUrl is not https`] : []),
      ...(transport.secure ? [] : [`${cookie} is not Secure: browsers will send it where others listen`]),
      ...(transport.httpOnly ? [] : [`${cookie} is not HttpOnly: every script in the page can read it`]),
    ]
  })
}

/** Otherwise the login of such a front end works, and its next request is 401. */
async function doubtsOfSites({ http, backends }: Settings): Promise<string[]> {
  const publicUrl = http.publicUrl ?? 'http://localhost'
  const others: string[] = []
  for (const origin of http.allowedOrigins) {
    if (!(await areSameSite(new URL(origin), new URL(publicUrl)))) others.push(origin)
  }
  return enabledOf(backends).flatMap(([name, { transport }]) => {
    if (others.length === 0 || transport.kind !== 'cookie' || transport.sameSite === 'none') return []
    return [
      `browsers do not send the cookie of the backend ${name} with requests of ${others.join(', ')} (http.allowedOrigins), which is another site than ${publicUrl}: use one host name or domain for both, or a backend with bearer tokens`,
    ]
  })
}

function judgeStores({ stores }: Settings, note: NoteFault): void {
  for (const [role, store] of Object.entries(stores)) {
    const kind = storeKinds.find((one) => one.kind === store.kind)
    const objection = kind === undefined ? null : addressObjection(kind, store)
    // A role of the same kind inherits the address of the users, so a missing address is one fault.
    const users = store.kind === stores.users.kind ? ['stores.users.kind', 'stores.users.url'] : []
    const involved = [`stores.${role}.kind`, ...users]
    if (objection !== null) note(`stores.${role}.url`, objection, involved)
    if (store.prefix !== undefined && kind !== undefined && kind.takesPrefix !== true) {
      note(`stores.${role}.prefix`, `must not be given: ${kind.kind} has no prefix`, involved)
    }
  }
}

/** Scheme, hosts, path. `URL` refuses MongoDB addresses with several hosts. */
const address = /^([a-z][a-z0-9+.-]*:)\/\/[^/?#\s]+(\/[^?#\s]*)?(?:\?[^#\s]*)?$/i

function addressObjection(storeKind: StoreBackend, { url }: StoreSettings): string | null {
  const { kind, protocols, needsDatabase } = storeKind
  if (protocols.length === 0) return url === undefined ? null : `must not be given: ${kind} has no address`
  const wanted = protocols.map((protocol) => `${protocol}//…`).join(' or ')
  if (url === undefined) return `is required for ${kind}: ${wanted}`
  const [, protocol, path] = address.exec(url) ?? []
  if (protocol === undefined || !protocols.includes(protocol.toLowerCase())) {
    return `must be an address of ${kind}: ${wanted}`
  }
  if (needsDatabase === true && !/^\/[^/]+$/.test(path ?? '')) return `must name a database: ${protocol}//host/name`
  return storeKind.objection?.(url) ?? null
}

function judgeBackends(settings: Settings, note: NoteFault): void {
  const cookies = new Map<string, string>()
  for (const [name, { transport, strategy }] of enabledOf(settings.backends)) {
    for (const [half, options, kinds] of [
      ['transport', transport, transports],
      ['strategy', strategy, strategies],
    ] as const) {
      const path = `backends.${name}.${half}`
      const involved = Object.keys(options).map((option) => `${path}.${option}`)
      const found = objectionsTo(kinds, options)
      for (const { option, message } of found) note(`${path}.${option}`, message, involved)
    }
    if (transport.kind !== 'cookie') continue
    const path = `backends.${name}.transport.name`
    const other = cookies.get(transport.name)
    if (other === undefined) cookies.set(transport.name, path)
    else note(path, `is the cookie of ${other} as well`, [other])
  }
}

/** Otherwise a new user could neither log in before verification nor verify without a login. */
function judgeVerification({ verification, backends }: Settings, note: NoteFault): void {
  const enabled = enabledOf(backends)
  if (!verification.requiresSession || enabled.length === 0) return
  if (enabled.some(([, { requiresVerification }]) => !requiresVerification)) return
  const message = 'needs a backend without requiresVerification, because users verify within a session'
  note('verification.requiresSession', message, ['backends'])
}

function judgeProviders(settings: Settings, note: NoteFault): void {
  const { publicUrl, allowedOrigins } = settings.http
  for (const [name, provider] of enabledOf(settings.providers)) {
    const path = `providers.${name}`
    if (name in settings.backends) note(path, `is the name of a backend as well`, [`backends.${name}`])
    const backend = enabledOf(settings.backends).find(([one]) => one === provider.backend)?.[1]
    if (backend === undefined) note(`${path}.backend`, 'must be the name of an enabled backend', ['backends'])
    for (const option of ['redirectUrl', 'redirectUrlAssociate'] as const) {
      const url = provider[option]
      if (url === undefined || isOurPage(url, publicUrl, allowedOrigins)) continue
      note(`${path}.${option}`, 'must be a page of http.publicUrl or of one of http.allowedOrigins')
    }
  }
}

function judgePages(settings: Settings, note: NoteFault): void {
  const { enabled, logo } = settings.pages
  if (enabled && !canHavePages(settings)) {
    note('pages.enabled', 'needs an enabled backend with a cookie, and the router users', ['backends', 'routers'])
  }
  if (logo !== null && !/\.(svg|png|jpg|webp)$/.test(logo)) note('pages.logo', 'must end in .svg, .png, .jpg or .webp')
}

/** Without a public URL the service listens on loopback, where it trusts every page of this machine. */
function isOurPage(page: string, publicUrl: string | undefined, allowedOrigins: readonly string[]): boolean {
  const url = new URL(page)
  if (allowedOrigins.includes(url.origin)) return true
  return publicUrl === undefined ? leadsToLoopback(url) : url.origin === publicUrl
}

/** Refuses two operations on one path, in any case of letters: requests would never reach the second one. */
function judgePaths(settings: Settings, note: NoteFault): void {
  const owners = new Map<string, string>(serviceOperations.map((one) => [one.toLowerCase(), 'the service itself']))
  for (const { prefix, setting, operations } of mountedOperations(settings)) {
    const taken = operations.flatMap((operation) => {
      const route = operation.replace(' ', ` ${prefix}`)
      const key = route.toLowerCase().replace(/:\w+/g, ':')
      const owner = owners.get(key)
      if (owner === undefined) owners.set(key, setting)
      return owner === undefined ? [] : [{ route, owner }]
    })
    const [first] = taken
    if (first !== undefined) note(setting, `puts ${first.route} where ${first.owner} already has it`, [first.owner])
  }
}

function judgePasswords({ passwords }: Settings, note: NoteFault): void {
  const { memoryKiB, timeCost, parallelism, concurrency } = passwords
  const least = leastCosts.find((one) => timeCost >= one.timeCost && memoryKiB >= one.memoryKiB)
  if (least === undefined) {
    const pairs = leastCosts.map((one) => `${one.memoryKiB} KiB with ${one.timeCost}`).join(', ')
    const path = memoryKiB < 19_456 ? 'passwords.memoryKiB' : 'passwords.timeCost'
    const message = `hashes too cheaply: at least ${pairs} passes, or more`
    note(path, message, ['passwords.memoryKiB', 'passwords.timeCost'])
  }
  if (concurrency !== undefined && concurrency < parallelism) {
    note('passwords.concurrency', 'must be at least passwords.parallelism', ['passwords.parallelism'])
  }
}

function judgeMail({ mail, try: tryPage }: Settings, note: NoteFault): void {
  const url = parseMailUrl(mail.url)
  if ('objection' in url) note('mail.url', url.objection)
  else if (url.kind === 'mailbox' && !tryPage.enabled) {
    note('mail.url', 'cannot be mailbox: without /try, which shows the messages', ['try.enabled'])
  }
}

/** Operations below a prefix (`METHOD /path`), and the setting that puts them there. */
export interface Mounted {
  readonly prefix: string
  readonly setting: string
  readonly operations: readonly string[]
}

/** The operations of every enabled backend, provider and router, in this order. */
export function mountedOperations(settings: Settings): Mounted[] {
  const backends = enabledOf(settings.backends).map(([name, { prefix }]) => ({
    prefix,
    setting: `backends.${name}.prefix`,
    operations: backendOperations,
  }))
  const providers = enabledOf(settings.providers).flatMap(([name, { prefix, associatePrefix }]) => [
    { prefix, setting: `providers.${name}.prefix`, operations: providerOperations },
    { prefix: associatePrefix, setting: `providers.${name}.associatePrefix`, operations: associateOperations },
  ])
  const mounted = routers
    .filter(({ name }) => settings.routers[name].enabled)
    .map((plugin) => ({
      prefix: settings.routers[plugin.name].prefix,
      setting: `routers.${plugin.name}.prefix`,
      operations: operationsOf(plugin),
    }))
  return [...backends, ...providers, ...mounted]
}
