// Accounts in your own Koa app. `npm run docs:api` lists all names with their signatures.
import type { TenantHttp } from './adapters/http/pipeline/serve.ts'
import { accountsInKoa, type KoaAccounts } from './adapters/http/server/koa-accounts.ts'
import { tenantHttp } from './config/composition/http.ts'
import type { Tenant } from './config/composition/tenant.ts'
import { internalsOf, type Portcullis } from './config/runtime/embedded.ts'
import { pathsOfTenants } from './config/settings/mounts.ts'
import { settingsFault } from './config/settings/schema/fault.ts'
import type { Settings } from './config/settings/schema/schema.ts'
import { pathOfTenant } from './config/settings/tenants.ts'
import { routingOf } from './config/tenancy/routing.ts'

export type { Demands, Guard, KoaAccounts, SignedIn } from './adapters/http/server/koa-accounts.ts'

/**
 * The routes and guards of an open Portcullis, for any Koa app. Throws a `SettingsFault` if the settings lack the address
 * of the app for browsers (`http.publicUrl`).
 */
export function koaAccounts(portcullis: Portcullis): KoaAccounts {
  const { settings, tenants, log, directory } = internalsOf(portcullis)
  const isTls = requiredPublicUrl(settings).startsWith('https:')
  const built = new WeakMap<Tenant, TenantHttp>()
  if ([...tenants.enabled.values()].some((one) => linksToPages(one.settings))) {
    log.warn('messages link to /account, which a Koa app does not have: set mail.links.verify and mail.links.reset')
  }

  /** Builds the routes of a tenant on first use, and drops them when it closes. */
  function httpOf(tenant: Tenant): TenantHttp {
    const publicUrl = requiredPublicUrl(tenant.settings) + pathOfTenant(tenant.id, settings)
    const own = { ...tenant.settings, pages: { ...tenant.settings.pages, enabled: false } } // a Koa app does not have them
    const http = built.get(tenant) ?? tenantHttp({ ...tenant, settings: own }, { publicUrl })
    built.set(tenant, http)
    return http
  }

  return accountsInKoa({
    tenants: {
      knows: directory.knows,
      use: (id, work) => directory.use(id, (tenant) => work({ http: httpOf(tenant) })),
    },
    routing: routingOf(settings, () => tenants, log),
    paths: pathsOfTenants(settings, tenants),
    log,
    isTls,
    logRequests: settings.logs.requests,
  })
}

function linksToPages({ mail: { url, links } }: Settings): boolean {
  return url !== 'off' && (links.verify === undefined || links.reset === undefined)
}

function requiredPublicUrl({ http: { publicUrl } }: Settings): string {
  if (publicUrl !== undefined) return publicUrl
  const message = 'is required in a Koa app: the origin under which browsers reach it'
  throw settingsFault('http.publicUrl', message)
}
