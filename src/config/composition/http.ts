import { mountDocs } from '../../adapters/http/docs/docs-page.ts'
import { openapi } from '../../adapters/http/docs/openapi.ts'
import type { Router } from '../../adapters/http/endpoint.ts'
import { mountTryPage } from '../../adapters/http/pages/try-page.ts'
import { type Identify, identifying } from '../../adapters/http/pipeline/identify.ts'
import { type Handle, serving } from '../../adapters/http/pipeline/route-table.ts'
import { mount } from '../../adapters/http/pipeline/serve.ts'
import { demandOfTls } from '../../adapters/http/server/frame-headers.ts'
import { ownOrigins } from '../../adapters/http/transports/http-backend.ts'
import { Authenticate } from '../../application/sign-in/authenticate.ts'
import { version } from '../../lib/version.ts'
import { mountedProviders } from '../plugins/providers.ts'
import { routersOf } from '../plugins/routers.ts'
import { oauthRoutersOf } from './oauth-routers.ts'
import { prefixOf } from './sign-in.ts'
import type { OpenTenant } from './tenant.ts'
import { tryConfig } from './try-config.ts'

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
  const { settings, container, backends } = tenant
  const { publicUrl, strict, operations = [], allowedHeaders = [] } = needs
  const { allowedOrigins } = settings.http
  const routers = routersOfTenant(tenant, needs)
  let origins: ReadonlySet<string> | null = null
  const own = (): ReadonlySet<string> => {
    origins ??= ownOrigins(publicUrl(), allowedOrigins)
    return origins
  }
  const identify = identifying({ authenticate: container.get(Authenticate), backends, ownOrigins: own })
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
  const { settings, container, backends } = tenant
  const providers = mountedProviders(tenant, publicUrl)
  return [
    ...routersOf(settings, container, backends),
    ...oauthRoutersOf(settings, container, backends, providers),
    ...operations,
  ]
}

export function describedBackends({ settings, backends }: OpenTenant) {
  return backends.map((backend) => ({ backend, loginPath: `${prefixOf(settings, backend.name)}/login` }))
}
