import { randomBytes } from 'node:crypto'
import { openapi } from '../../adapters/http/docs/openapi.ts'
import { operationsRouter } from '../../adapters/http/routers/operations.ts'
import { version } from '../../lib/version.ts'
import { publicUrl } from '../tenancy/addressing.ts'
import type { ServeNeeds } from '../tenancy/served.ts'
import { describedBackends, routersOfTenant } from './http.ts'
import { openTenant } from './tenant.ts'

/**
 * The OpenAPI document of a tenant that differs in nothing from the common settings. Built from one that keeps
 * nothing and is never prepared, since no real one need be open for it.
 */
export async function describedApi({ common, settings, portOf }: ServeNeeds): Promise<object> {
  const memory = { kind: 'memory' }
  const tenant = await openTenant({
    ...common,
    id: 'described',
    settings: {
      ...settings,
      secret: randomBytes(32).toString('base64url'),
      stores: { users: memory, sessions: memory, tokens: memory },
      handlers: { ...settings.handlers, module: null, console: false },
    },
    failed: () => undefined,
  })
  const routers = routersOfTenant(tenant, {
    publicUrl: () => publicUrl(settings, portOf()),
    operations: [
      operationsRouter(
        async () => [],
        () => ({ open: 0, disabled: 0 }),
      ),
    ],
  })
  const { by, pathPrefix, header } = settings.tenants
  const ofPath = { url: `${pathPrefix}/{tenant}`, variables: { tenant: { default: 'default' } } }
  const backends = describedBackends(tenant).map(({ backend, loginPath }) => ({
    backend,
    loginPath: by === 'host' ? loginPath : null,
  }))
  return openapi(routers, backends, version, {
    server: by === 'path' ? ofPath : { url: '/' },
    header: by === 'header' ? header : null,
  })
}
