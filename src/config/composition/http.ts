import { mountDocs } from '../../adapters/http/docs/docs-page.ts'
import { openapi } from '../../adapters/http/docs/openapi.ts'
import type { Router } from '../../adapters/http/endpoint.ts'
import type { MountedProvider } from '../../adapters/http/oauth/mounted-provider.ts'
import type { ComesBack, TryConfig } from '../../adapters/http/pages/try-page.ts'
import { mountTryPage } from '../../adapters/http/pages/try-page.ts'
import { type Identify, identifying } from '../../adapters/http/pipeline/identify.ts'
import { type Handle, serving } from '../../adapters/http/pipeline/route-table.ts'
import { mount } from '../../adapters/http/pipeline/serve.ts'
import { authRouter } from '../../adapters/http/routers/auth.ts'
import { oauthRouter } from '../../adapters/http/routers/oauth.ts'
import { oauthAssociateRouter } from '../../adapters/http/routers/oauth-associate.ts'
import { demandOfTls } from '../../adapters/http/server/frame-headers.ts'
import { ownOrigins } from '../../adapters/http/transports/http-backend.ts'
import { version } from '../../lib/version.ts'
import { routers } from '../plugins/routers.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import { mountedProviders, prefixOf } from './sign-in.ts'
import type { OpenTenant } from './tenant.ts'

export interface HttpNeeds {
  /** Where browsers reach this tenant, without a slash at the end. Known once the service listens. */
  readonly publicUrl: () => string
  /** In tests: a refusal that its endpoint does not list is a fault. */
  readonly strict: boolean
  /** What is served besides the tenant's own routers, and described with them. */
  readonly operations?: readonly Router[]
  readonly allowedHeaders?: readonly string[]
}

/** A tenant as HTTP meets it. */
export interface TenantHttp {
  /** Answers every request that is this tenant's. */
  readonly handle: Handle
  readonly identify: Identify
}

/** Every route of one tenant. */
export function tenantHttp(tenant: OpenTenant, needs: HttpNeeds): TenantHttp {
  const { settings, useCases, backends } = tenant
  const { publicUrl, strict, operations = [], allowedHeaders = [] } = needs
  const { allowedOrigins } = settings.http
  const routers = routersOfTenant(tenant, needs)
  let origins: ReadonlySet<string> | null = null
  const own = (): ReadonlySet<string> => {
    origins ??= ownOrigins(publicUrl(), allowedOrigins)
    return origins
  }
  const identify = identifying({ authenticate: useCases.authenticate, backends, ownOrigins: own })
  const router = mount(routers, { identify, ownOrigins: own, strict })
  if (operations.length > 0 && settings.docs.enabled) {
    mountDocs(router, openapi(routers, describedBackends(tenant), version))
  }
  if (settings.try.enabled) {
    mountTryPage(router, () => ({ publicUrl: publicUrl(), config: tryConfig(settings, publicUrl()) }))
  }
  const served = serving({ router, allowedOrigins, allowedHeaders })
  const isTls = settings.http.publicUrl?.startsWith('https:') ?? false
  const handle: Handle = (ctx, next) => {
    if (isTls) ctx.res.setHeader(...demandOfTls)
    return served(ctx, next)
  }
  return { handle, identify }
}

export function routersOfTenant(
  tenant: OpenTenant,
  { publicUrl, operations = [] }: Pick<HttpNeeds, 'publicUrl' | 'operations'>,
): Router[] {
  return [...mainRouters(tenant), ...oauthRouters(tenant, mountedProviders(tenant, publicUrl)), ...operations]
}

export function describedBackends({ settings, backends }: OpenTenant) {
  return backends.map((backend) => ({ backend, loginPath: `${prefixOf(settings, backend.name)}/login` }))
}

/** The routers that the settings enable, at their prefixes. */
function mainRouters({ settings, useCases, backends }: OpenTenant): Router[] {
  const auth = backends.map((backend) => authRouter({ ...useCases, backend, prefix: prefixOf(settings, backend.name) }))
  const others = routers
    .filter(({ name }) => settings.routers[name].enabled)
    .map(({ name, build }) => build({ ...useCases, backends, prefix: settings.routers[name].prefix }))
  return [...auth, ...others]
}

/** The two routers of every provider: to sign in, and to link accounts. */
function oauthRouters(
  { settings, useCases, ports: { vault }, backends }: OpenTenant,
  providers: ReadonlyMap<string, MountedProvider>,
): Router[] {
  return [...providers].flatMap(([name, mounted]) => {
    const provider = settings.providers[name]
    const backend = backends.find((one) => one.name === provider?.backend)
    if (provider === undefined || backend === undefined) throw new Error(`the provider ${name} has no backend`)
    return [
      oauthRouter({ ...useCases, mounted, backend, prefix: provider.prefix }),
      oauthAssociateRouter({ ...useCases, vault, mounted, prefix: provider.associatePrefix }),
    ]
  })
}

/** What the page at `/try` gets to know of the settings. */
export function tryConfig({ backends, routers, providers }: Settings, publicUrl: string): TryConfig {
  const isHere = (page: string | undefined): boolean => {
    if (page === undefined) return false
    const { origin, pathname } = new URL(page)
    return `${origin}${pathname}` === `${publicUrl}/try`
  }
  const comesBack = (byProvider: string | undefined, byUs: string | undefined): ComesBack => {
    if (byProvider !== undefined) return isHere(byProvider) ? 'to this page' : 'elsewhere'
    return isHere(byUs) ? 'by redirect' : 'elsewhere'
  }
  return {
    backends: enabledOf(backends).map(([name, { transport, prefix }]) => ({ name, transport: transport.kind, prefix })),
    routers: Object.fromEntries(
      Object.entries(routers).map(([name, router]) => [name, router.enabled ? router.prefix : null]),
    ),
    providers: enabledOf(providers).map(([name, provider]) => ({
      name,
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
