import { registrableDomain } from '../../adapters/addresses/registrable-domain.ts'
import { qrCode } from '../../adapters/factors/qr-code.ts'
import { loginFieldOf } from '../../adapters/fields/login-field.ts'
import type { Use as UseOfConsole } from '../../adapters/http/admin/admin-router.ts'
import { administration } from '../../adapters/http/admin/administration.ts'
import { explainRouter } from '../../adapters/http/admin/explain-router.ts'
import type { UseOfApps } from '../../adapters/http/apps/apps-router.ts'
import { withForms } from '../../adapters/http/docs/answer-forms.ts'
import { docsRouter } from '../../adapters/http/docs/docs-page.ts'
import { asFastApi } from '../../adapters/http/docs/fastapi.ts'
import { openapi } from '../../adapters/http/docs/openapi.ts'
import { withOwnFields } from '../../adapters/http/docs/own-fields.ts'
import { withUserIds } from '../../adapters/http/docs/user-ids.ts'
import type { Mounted, Router } from '../../adapters/http/endpoint.ts'
import type { MountedProvider } from '../../adapters/http/oauth/mounted-provider.ts'
import { accountRouter } from '../../adapters/http/pages/account/account-router.ts'
import { problemPage } from '../../adapters/http/pages/account/problem-page.ts'
import { frontDoorRouter } from '../../adapters/http/pages/front-door.ts'
import { mailboxRouter } from '../../adapters/http/pages/mailbox-page.ts'
import { comingBack, hasTryPage, tryRouter } from '../../adapters/http/pages/try-page.ts'
import { wellKnownRouter } from '../../adapters/http/pages/well-known.ts'
import { answerForms } from '../../adapters/http/pipeline/answer-forms.ts'
import { clientAddresses } from '../../adapters/http/pipeline/client-address.ts'
import { traitsOf } from '../../adapters/http/pipeline/client-traits.ts'
import { identifying } from '../../adapters/http/pipeline/identify.ts'
import { type Route, type RouteTable, routeTable } from '../../adapters/http/pipeline/route-table.ts'
import {
  ofNoTenant,
  type RequireLevel,
  type RoutesNeeds,
  routesOf,
  type TenantHttp,
} from '../../adapters/http/pipeline/serve.ts'
import { authRouter } from '../../adapters/http/routers/auth.ts'
import { checkPasswordRouter } from '../../adapters/http/routers/check-password.ts'
import { checkResetRouter } from '../../adapters/http/routers/check-reset.ts'
import { oauthRouter } from '../../adapters/http/routers/oauth.ts'
import { oauthAssociateRouter } from '../../adapters/http/routers/oauth-associate.ts'
import { operationsRouter } from '../../adapters/http/routers/operations.ts'
import { ownDeletionRouter } from '../../adapters/http/routers/own-deletion.ts'
import { ownExportRouter } from '../../adapters/http/routers/own-export.ts'
import { secondFactorRouter } from '../../adapters/http/routers/second-factor.ts'
import { userSearchRouter } from '../../adapters/http/routers/user-search.ts'
import type { BrowserCookie } from '../../adapters/http/transports/browser-cookie.ts'
import { removingRepeated } from '../../adapters/http/transports/cookie-scopes.ts'
import type { DeviceCookie } from '../../adapters/http/transports/device-cookie.ts'
import { type HttpBackend, ownOrigins } from '../../adapters/http/transports/http-backend.ts'
import type { FailingStore } from '../../adapters/stores/store-watch.ts'
import type { OpenTenants } from '../../adapters/tenants/directory.ts'
import { isTooWeak, requireLevel as requireLevelOf } from '../../application/factors/level.ts'
import type { ProviderVault } from '../../application/ports/provider-vault.ts'
import type { Authenticated } from '../../application/sign-in/authenticate.ts'
import type { FieldRules } from '../../domain/fields.ts'
import { basePathOf } from '../../lib/base-path.ts'
import { brandOf } from '../../lib/brand.ts'
import { withoutLinks } from '../../lib/linked-text.ts'
import { leadsToLoopback } from '../../lib/loopback.ts'
import { version } from '../../lib/version.ts'
import { postsCallback } from '../plugins/providers.ts'
import { routers } from '../plugins/routers.ts'
import { isLocal, isPublic } from '../settings/defaults.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import { defaultTenant } from '../settings/tenants.ts'
import { loginCookiesOf, mountedProviders, transportOf } from './backends-and-providers.ts'
import { contactOf } from './mail.ts'
import { rulesOf } from './ports.ts'
import { hasApps, siteOf } from './site.ts'
import type { Tenant } from './tenant.ts'

interface TenantNeeds {
  /** The address for browsers, without a final slash. */
  readonly publicUrl: string
  /** The key of the mailbox; absent where the process shows none. */
  readonly mailboxKey?: string
  /** As `appsCode` returns it; absent where the process serves no apps. */
  readonly apps?: AppsCode | null
  /** As `consoleCode` returns it; absent where the process serves no console. */
  readonly console?: ConsoleCode | null
  /** The port of the console; absent without one of its own. */
  readonly adminPort?: number | null
  /** The numbers of tenants; absent without tenants. */
  readonly counts?: OpenTenants<Tenant>['counts'] | null
}

type ConsoleCode = typeof import('./console.ts')

/** The code of the console, which is loaded for the first tenant that has it; otherwise `null`. */
export async function consoleCode({ admin }: Settings): Promise<ConsoleCode | null> {
  return admin.enabled ? await import('./console.ts') : null
}

type AppsCode = typeof import('./apps.ts')

/** The code for apps, which is loaded for the first tenant that has any; otherwise `null`. */
export async function appsCode(settings: Settings): Promise<AppsCode | null> {
  return hasApps(settings) ? await import('./apps.ts') : null
}

/** Every route of one tenant. */
export function tenantHttp(tenant: Tenant, needs: TenantNeeds): TenantHttp {
  const { publicUrl, mailboxKey = null, apps = null, console = null, adminPort = null, counts = null } = needs
  const { settings, useCases, backends, ports, mailbox, signingKeys } = tenant
  const { deviceCookie, browserCookie } = loginCookiesOf(tenant)
  const clientOf = clientAddresses(settings.http.trustedProxies)
  const origins = ownOrigins(publicUrl, settings.http.allowedOrigins)
  const removeRepeated = removingRepeated(publicUrl, registrableDomain)
  const { authenticate } = useCases
  const identify = identifying({ authenticate, backends, ownOrigins: origins, removeRepeated })
  const requireLevel: RequireLevel = (by, level) => requireLevelOf(ports, by, level)
  const rulesOfSuperusers = administration({
    ...ports,
    settings: settings.admin,
    trustedProxies: settings.http.trustedProxies,
    port: adminPort,
    isPublic: !leadsToLoopback(new URL(publicUrl)),
  })
  const page = tryRouter({ publicUrl, config: tryConfig(settings, ports.fieldRules, publicUrl) })
  const kept = mailbox !== null && mailboxKey !== null ? [mailboxRouter({ mailbox, key: mailboxKey })] : []
  const { cacheSeconds } = settings.keys
  const signIn = apps?.descriptionFor(publicUrl) ?? null
  const wellKnown = wellKnownRouter({ issuer: publicUrl, published: signingKeys.published, cacheSeconds, signIn })
  const ofDevelopment = settings.try.enabled ? [page, ...kept] : []
  const parts = {
    use: {
      ...useCases,
      isTooWeak: (by: Authenticated) => isTooWeak(ports, by),
      vault: ports.vault,
      backends,
      deviceCookie,
      browserCookie,
      qrCode,
      serviceName: brandOf(settings.pages.name, new URL(publicUrl)),
    },
    providers: mountedProviders(tenant, publicUrl),
    apps: apps?.mountedApps(tenant, publicUrl, rulesOfSuperusers.lackOf) ?? null,
    console: console?.useOfConsole(tenant, counts) ?? null,
  }
  const routesNeeds: RoutesNeeds = {
    identify,
    requireLevel,
    usesCookies: backends.some(({ transport }) => transport.isAmbient),
    pageOrigins: ownOrigins(publicUrl, []),
    ownOrigins: origins,
    allowedOrigins: new Set([...origins, ...settings.http.allowedOrigins]),
    callerOf(request) {
      const client = settings.limits.enabled ? clientOf(request) : null // the hash pool does not limit unknown clients
      return { client, device: deviceCookie.read(request.headers.cookie) }
    },
    traitsOf: (request) => traitsOf(clientOf(request), request.headers['user-agent']),
    limits: ports.limits,
    fieldRules: ports.fieldRules,
    formed: answerForms(settings.compat),
    removeRepeated,
    administration: rulesOfSuperusers,
  }
  const ofPages = (routers: readonly Router<unknown>[]) =>
    routers.flatMap((router) => routesOf({ ...router, prefix: '' }, null, routesNeeds))
  return {
    // A page comes before a parameter at the same place, such as `/:user_id`.
    routes: routeTable([
      ...ofPages(pageRouters(tenant, { publicUrl, mailboxKey: kept.length > 0 ? mailboxKey : null })),
      ...routersOf(settings, apps, console).flatMap((router) => router.routesOf(parts, routesNeeds)),
      ...ofPages([...ofDevelopment, wellKnown, ...(console?.pagesOf(tenant, publicUrl) ?? [])]),
    ]),
    identify,
    requireLevel,
    isTls: settings.http.publicUrl?.startsWith('https:') ?? false,
    problemPage: settings.pages.enabled
      ? problemPage({ site: { ...settings.pages, contact: contactOf(settings) }, publicUrl, identify })
      : null,
  }
}

/** The routes of the service itself: health, readiness and, unless turned off, the description of the API. */
export async function processRoutes(settings: Settings, tenants: OpenTenants<Tenant>): Promise<RouteTable> {
  const hasTenants = settings.tenants.by !== undefined
  const operations = { ...operationsRouter(hasTenants), prefix: '' }
  const use = { failing: () => failingOf(tenants), counts: hasTenants ? tenants.counts : null }
  const docs = settings.docs.enabled
    ? [docsRouter(documentOf(settings, operations, await appsCode(settings), await consoleCode(settings)))]
    : []
  const ofDocs = docs.flatMap((router) => routesOf({ ...router, prefix: '' }, null, ofNoTenant))
  return routeTable([...routesOf(operations, use, ofNoTenant), ...ofDocs])
}

/** Readiness checks only the tenant `default`, because an outage of another tenant concerns only its users. */
async function failingOf(tenants: OpenTenants<Tenant>): Promise<readonly FailingStore[]> {
  if (!tenants.knows(defaultTenant)) return []
  return tenants
    .inspect(defaultTenant, (tenant) => tenant.failing())
    .catch(() => [{ store: `tenant ${defaultTenant}`, roles: [] }])
}

/** The OpenAPI document of the common settings. No tenant has to be open for it. */
function documentOf(
  settings: Settings,
  operations: Mounted,
  apps: AppsCode | null,
  console: ConsoleCode | null,
): object {
  const { by, pathPrefix, header } = settings.tenants
  const base = basePathOf(settings.http.publicUrl)
  const backends = enabledOf(settings.backends).map(([name, own]) => ({
    backend: { name, transport: transportOf(own) },
    loginPath: by === 'header' || by === 'path' ? null : `${base}${own.prefix}/login`,
  }))
  const ofPath = { url: `${base}${pathPrefix}/{tenant}`, variables: { tenant: { default: 'default' } } }
  const service = { url: base || '/' }
  const servers = { service, tenant: by === 'path' ? ofPath : service, header: by === 'header' ? header : null }
  const rules = rulesOf(settings)
  const described = routersOf(settings, apps, console).map((router) =>
    withUserIds(withOwnFields(router, rules), settings.ids),
  )
  const own = openapi([...described, operations], backends, version, {
    ...servers,
    haveTenants: by !== undefined,
    demandsFactor: settings.security.secondFactor !== 'optional' || (settings.admin.enabled && isPublic(settings.http)),
  })
  const document = withForms(own, settings.compat)
  return settings.compat.documentNames ? asFastApi(document) : document
}

/** The use cases of an open tenant, and the other parts that handlers need. */
type Use = Tenant['useCases'] & {
  readonly vault: ProviderVault
  readonly backends: readonly HttpBackend[]
  readonly deviceCookie: DeviceCookie
  readonly browserCookie: BrowserCookie
  readonly qrCode: (text: string) => Promise<string>
  readonly isTooWeak: (by: Authenticated) => boolean
  readonly serviceName: string
}

interface Parts {
  readonly use: Use
  readonly providers: ReadonlyMap<string, MountedProvider>
  /** `null` without apps. */
  readonly apps: UseOfApps | null
  /** `null` without the console. */
  readonly console: UseOfConsole | null
}

/** A router of the settings. Its routes need an open tenant. */
interface PlacedRouter extends Mounted {
  routesOf(parts: Parts, needs: RoutesNeeds): Route[]
}

type Place = Pick<Mounted, 'prefix' | 'requiresVerification'>

function placed<Own>(place: Place, router: Router<Own>, useOf: (parts: Parts) => Own): PlacedRouter {
  const { prefix, requiresVerification = false } = place
  const mounted = { ...router, prefix, requiresVerification }
  return { ...mounted, routesOf: (parts, needs) => routesOf(mounted, useOf(parts), needs) }
}

/** The routers that the settings enable, at their prefixes. */
function routersOf(settings: Settings, code: AppsCode | null, console: ConsoleCode | null): PlacedRouter[] {
  const backends = enabledOf(settings.backends).map(([name, own]) => ({ name, own, transport: transportOf(own) }))
  const hasFactors = settings.routers.factors.enabled
  const auth = backends.map((backend) => {
    const place = { prefix: backend.own.prefix, requiresVerification: backend.own.logoutRequiresVerification }
    return placed(place, authRouter({ ...backend, loginField: loginFieldOf(backend.own), hasFactors }), ({ use }) => ({
      ...use,
      backend: one(use.backends, backend.name),
    }))
  })
  const secondFactors = hasFactors
    ? backends.map((backend) =>
        placed({ prefix: backend.own.prefix }, secondFactorRouter(backend), ({ use }) => ({
          ...use,
          backend: one(use.backends, backend.name),
        })),
      )
    : []
  const others = routers
    .filter(({ name }) => settings.routers[name].enabled)
    .map(({ name, router }) => placed<Use>(settings.routers[name], router, ({ use }) => use))
  const { users } = settings.routers
  const isDeletable = users.enabled && settings.users.selfDeletion
  const deletion = isDeletable ? [placed<Use>(users, ownDeletionRouter, ({ use }) => use)] : []
  const isExportable = users.enabled && settings.users.selfExport
  const ownExport = isExportable ? [placed<Use>(users, ownExportRouter, ({ use }) => use)] : []
  const isSearchable = users.enabled && settings.users.search
  const explaining = isSearchable ? [placed<Use>(users, explainRouter, ({ use }) => use)] : []
  const search = isSearchable ? [placed<Use>(users, userSearchRouter, ({ use }) => use)] : []
  // Routes of the pages that programs may want to call, too.
  const { enabled: hasPages } = settings.pages
  const checkPassword = hasPages ? [placed<Use>({ prefix: '' }, checkPasswordRouter, ({ use }) => use)] : []
  const hasReset = hasPages && settings.routers.resetPassword.enabled
  const checkReset = hasReset ? [placed<Use>({ prefix: '' }, checkResetRouter, ({ use }) => use)] : []
  const apps = code === null ? [] : [placed({ prefix: '' }, code.appsRouter, ({ apps }) => built(apps))]
  const admin = console === null ? [] : [placed({ prefix: '' }, console.adminRouter, (parts) => built(parts.console))]
  const oauth = enabledOf(settings.providers).flatMap(([name, own]) => {
    const posts = postsCallback(own.kind)
    const described = { name, backend: one(backends, own.backend), postsCallback: posts, hasFactors }
    const useOf = ({ use, providers }: Parts) => {
      const mounted = providers.get(name)
      if (mounted === undefined) throw new Error(`the provider ${name} is not built`)
      return { ...use, mounted, backend: one(use.backends, own.backend) }
    }
    const linking = { prefix: own.associatePrefix, requiresVerification: own.associateRequiresVerification }
    return [
      placed({ prefix: own.prefix }, oauthRouter(described), useOf),
      placed(linking, oauthAssociateRouter(name, posts), useOf),
    ]
  })
  return [
    ...auth,
    ...secondFactors,
    ...explaining,
    ...others,
    ...deletion,
    ...ownExport,
    ...search,
    ...checkReset,
    ...checkPassword,
    ...apps,
    ...admin,
    ...oauth,
  ]
}

function built<Use>(use: Use | null): Use {
  if (use === null) throw new Error('a router has no use cases')
  return use
}

function one<Backend extends { readonly name: string }>(
  backends: readonly Backend[],
  name: string | undefined,
): Backend {
  const found = backends.find((backend) => backend.name === name)
  if (found === undefined) throw new Error(`there is no backend ${name}`)
  return found
}

interface PageNeeds {
  readonly publicUrl: string
  /** `null` where there is no mailbox. */
  readonly mailboxKey: string | null
}

/** The pages for accounts and the start page, as far as the settings enable them. */
function pageRouters(tenant: Tenant, { publicUrl, mailboxKey }: PageNeeds): Router<unknown>[] {
  const { settings } = tenant
  const account = settings.pages.enabled ? [accountRouter(siteOf(tenant, publicUrl), publicUrl)] : []
  const isDevelopment = settings.try.enabled && hasTryPage && isLocal(settings.http)
  if (account.length === 0 && !isDevelopment) return []
  const { enabled, port } = settings.admin
  const hasConsole = enabled && port === undefined
  const development = isDevelopment ? { docs: docsPathOf(settings), mailboxKey, hasConsole } : null
  return [...account, frontDoorRouter({ account: account.length > 0, development }, publicUrl)]
}

/** The documents belong to no tenant, so their path has none. `null` if they are off. */
function docsPathOf({ docs, http }: Settings): string | null {
  return docs.enabled ? `${basePathOf(http.publicUrl)}/docs` : null
}

/** The settings that the page at `/try` needs. */
function tryConfig(settings: Settings, { fields }: FieldRules, publicUrl: string) {
  const { backends, routers, providers } = settings
  const comesBack = comingBack(publicUrl)
  return {
    backends: enabledOf(backends).map(([name, { transport, prefix }]) => ({ name, transport: transport.kind, prefix })),
    docs: docsPathOf(settings),
    requiredFields: [...fields.values()]
      .filter(({ atRegistration }) => atRegistration === 'required')
      .map(({ name, title, type, options }) => ({ name, title: withoutLinks(title.en ?? name), type, options })),
    routers: Object.fromEntries(
      Object.entries(routers).map(([name, router]) => [name, router.enabled ? router.prefix : null]),
    ),
    providers: enabledOf(providers).map(([name, provider]) => ({
      name,
      title: provider.label,
      backend: provider.backend,
      prefix: provider.prefix,
      associatePrefix: provider.associatePrefix,
      comesBack: {
        login: comesBack(provider.redirectUrl, provider.redirects.success),
        link: comesBack(provider.redirectUrlAssociate, provider.redirects.linked),
      },
    })),
  }
}
