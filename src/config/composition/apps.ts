import { appPages } from '../../adapters/http/apps/app-page.ts'
import type { MountedApps } from '../../adapters/http/apps/apps-router.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import { reportApps } from './reports.ts'
import { siteOf } from './site.ts'
import type { Tenant } from './tenant.ts'

/** The enabled apps of a tenant. The settings were checked, so each has its backend. */
export function mountedApps(tenant: Tenant, publicUrl: string): MountedApps {
  const { settings, backends, log, ports } = tenant
  const apps = enabledOf(settings.apps).flatMap(([name, { redirectUris, backend: wanted }]) => {
    return backends.filter((one) => one.name === wanted).map((backend) => ({ name, redirectUris, backend }))
  })
  return {
    publicUrl,
    byName: new Map(apps.map((app) => [app.name, app])),
    page: appPages(siteOf(tenant, publicUrl), publicUrl),
    report: reportApps(log),
    clock: ports.clock,
  }
}
