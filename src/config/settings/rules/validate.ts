import { leastCosts } from '../../../adapters/crypto/cost-bounds.ts'
import { secretObjection } from '../../../adapters/crypto/secret-objection.ts'
import { pagePaths, routes } from '../../../adapters/http/routes.ts'
import { parseMailUrl } from '../../../adapters/mail/mail-url.ts'
import { storeRoles } from '../../../adapters/stores/store-backend.ts'
import { isLoopback, leadsToLoopback } from '../../../lib/loopback.ts'
import { objectionToStore } from '../../plugins/stores.ts'
import { objectionsToCookie } from '../../plugins/transports.ts'
import { canHavePages } from '../defaults.ts'
import { mountedRoutes } from '../mounted-routes.ts'
import type { Settings } from '../schema/schema.ts'
import { enabledOf } from '../schema/tree.ts'

/** Adds a fault at `path`, unless this setting or an `involved` one has a fault already, which may be the cause. */
type NoteFault = (path: string, message: string, involved?: readonly string[]) => void

/** Applies the rules across settings. Each leaf of `settings` matches its schema. */
export function judgeSettings(settings: Settings, note: NoteFault): void {
  const { http, metrics, secret } = settings
  if (http.publicUrl === undefined && !isLoopback(http.host)) {
    note('http.publicUrl', 'is required unless http.host is a loopback address', ['http.host'])
  }
  const share = [http.host, metrics.host].some((host) => ['0.0.0.0', '::'].includes(host)) || http.host === metrics.host
  if (share && metrics.port === http.port && http.port !== 0) {
    note('metrics.port', 'must differ from http.port', ['http.port'])
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

function judgeStores({ stores }: Settings, note: NoteFault): void {
  for (const role of storeRoles) {
    const store = stores[role]
    const objection = objectionToStore(store)
    if (objection === null) continue
    const { option, message } = objection
    // A role of the same kind inherits the address of the users, so a missing address is one fault.
    const users = store.kind === stores.users.kind ? ['stores.users.kind', `stores.users.${option}`] : []
    note(`stores.${role}.${option}`, message, [`stores.${role}.kind`, ...users])
  }
}

function judgeBackends(settings: Settings, note: NoteFault): void {
  const cookies = new Map<string, string>()
  for (const [name, { transport }] of enabledOf(settings.backends)) {
    const path = `backends.${name}.transport`
    const involved = Object.keys(transport).map((option) => `${path}.${option}`)
    if (transport.kind !== 'cookie') continue
    for (const { option, message } of objectionsToCookie(transport)) note(`${path}.${option}`, message, involved)
    const other = cookies.get(transport.name)
    if (other === undefined) cookies.set(transport.name, `${path}.name`)
    else note(`${path}.name`, `is the cookie of ${other} as well`, [other])
  }
}

/** If every backend requires verification, a new user can never log in, and so never verify. */
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
  const owners = new Map(pathsOfService.map((one) => [one.toLowerCase(), 'the service itself']))
  const refused = new Set<string>()
  for (const { method, path, setting } of mountedRoutes(settings)) {
    const route = `${method} ${path}`
    const key = route.toLowerCase().replace(/:\w+/g, ':')
    const owner = owners.get(key)
    if (owner === undefined) owners.set(key, setting)
    else if (!refused.has(setting)) note(setting, `puts ${route} on a path that ${owner} already uses`, [owner])
    if (owner !== undefined) refused.add(setting)
  }
}

/** The routes of the service itself. */
const pathsOfService = [
  ...Object.values(routes.operations).map(([method, path]) => `${method} ${path}`),
  ...[...pagePaths.docs, ...pagePaths.try, ...pagePaths.mailbox].map((path) => `GET ${path}`),
]

function judgePasswords({ passwords }: Settings, note: NoteFault): void {
  const { memoryKiB, timeCost, parallelism, concurrency } = passwords
  const least = leastCosts.find((one) => timeCost >= one.timeCost && memoryKiB >= one.memoryKiB)
  if (least === undefined) {
    const pairs = leastCosts.map((one) => `${one.memoryKiB} KiB with ${one.timeCost}`).join(', ')
    const path = memoryKiB < 19_456 ? 'passwords.memoryKiB' : 'passwords.timeCost'
    const message = `is too low: at least ${pairs} passes, or more`
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
    note('mail.url', 'cannot be mailbox: while try.enabled is off, because only /try shows the messages', [
      'try.enabled',
    ])
  }
}
