import { registrableDomain } from '../../adapters/addresses/registrable-domain.ts'
import { qrCode } from '../../adapters/factors/qr-code.ts'
import { administration } from '../../adapters/http/admin/administration.ts'
import { withForms } from '../../adapters/http/docs/answer-forms.ts'
import { docsRouter } from '../../adapters/http/docs/docs-page.ts'
import { asFastApi } from '../../adapters/http/docs/fastapi.ts'
import { openapi } from '../../adapters/http/docs/openapi.ts'
import { withOwnFields } from '../../adapters/http/docs/own-fields.ts'
import { withUserIds } from '../../adapters/http/docs/user-ids.ts'
import type { Mounted } from '../../adapters/http/endpoint.ts'
import { problemPage } from '../../adapters/http/pages/account/problem-page.ts'
import { answerForms } from '../../adapters/http/pipeline/answer-forms.ts'
import { clientAddresses } from '../../adapters/http/pipeline/client-address.ts'
import { traitsOf } from '../../adapters/http/pipeline/client-traits.ts'
import { identifying } from '../../adapters/http/pipeline/identify.ts'
import { type RouteTable, routeTable } from '../../adapters/http/pipeline/route-table.ts'
import {
  ofNoTenant,
  type RequireLevel,
  type RoutesNeeds,
  routesOf,
  type TenantHttp,
} from '../../adapters/http/pipeline/serve.ts'
import { operationsRouter } from '../../adapters/http/routers/operations.ts'
import { removingRepeated } from '../../adapters/http/transports/cookie-scopes.ts'
import { ownOrigins } from '../../adapters/http/transports/http-backend.ts'
import type { FailingStore } from '../../adapters/stores/store-watch.ts'
import type { OpenTenants } from '../../adapters/tenants/directory.ts'
import { isTooWeak, requireLevel as requireLevelOf } from '../../application/factors/level.ts'
import type { Authenticated } from '../../application/sign-in/authenticate.ts'
import { basePathOf } from '../../lib/base-path.ts'
import { brandOf } from '../../lib/brand.ts'
import { leadsToLoopback } from '../../lib/loopback.ts'
import { version } from '../../lib/version.ts'
import { isPublic } from '../settings/defaults.ts'
import { mountsOf } from '../settings/mounts.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import { defaultTenant } from '../settings/tenants.ts'
import { loginCookiesOf, mountedProviders, transportOf } from './backends-and-providers.ts'
import { contactOf } from './mail.ts'
import { pageRouters } from './pages.ts'
import { rulesOf } from './ports.ts'
import { type LoadedCode, loadedCode, routerOf } from './routers.ts'
import type { Tenant } from './tenant.ts'

interface TenantNeeds {
  /** The address for browsers, without a final slash. */
  readonly publicUrl: string
  /** The key of the mailbox; absent where the process shows none. */
  readonly mailboxKey?: string
  /** As `loadedCode` returns it; absent where the process has no pages. */
  readonly code?: LoadedCode
  /** The port of the console; absent without one of its own. */
  readonly adminPort?: number | null
  /** The numbers of tenants; absent without tenants. */
  readonly counts?: OpenTenants<Tenant>['counts'] | null
}

/** Every route of one tenant. */
export function tenantHttp(tenant: Tenant, needs: TenantNeeds): TenantHttp {
  const { publicUrl, mailboxKey = null, code = { apps: null, console: null }, adminPort = null, counts = null } = needs
  const { settings, useCases, backends, ports } = tenant
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
    apps: code.apps?.mountedApps(tenant, publicUrl, rulesOfSuperusers.lackOf) ?? null,
    console: code.console?.useOfConsole(tenant, counts) ?? null,
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
  const pages = pageRouters(tenant, { publicUrl, mailboxKey, code })
  return {
    routes: routeTable(
      mountsOf(settings).flatMap((mount) => {
        const page = pages[mount.part]?.() ?? null
        if (page !== null) return routesOf({ ...page, prefix: '' }, null, routesNeeds)
        return routerOf(mount, settings, code)?.routesOf(parts, routesNeeds) ?? []
      }),
    ),
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
  const docs = settings.docs.enabled ? [docsRouter(documentOf(settings, operations, await loadedCode(settings)))] : []
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
function documentOf(settings: Settings, operations: Mounted, code: LoadedCode): object {
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
  const described = mountsOf(settings)
    .flatMap((mount) => routerOf(mount, settings, code) ?? [])
    .map((router) => withUserIds(withOwnFields(router, rules), settings.ids))
  const own = openapi([...described, operations], backends, version, {
    ...servers,
    haveTenants: by !== undefined,
    demandsFactor: settings.security.secondFactor !== 'optional' || (settings.admin.enabled && isPublic(settings.http)),
  })
  const document = withForms(own, settings.compat)
  return settings.compat.documentNames ? asFastApi(document) : document
}
