import { appPages } from '../../adapters/http/apps/app-page.ts'
import { appsRouter, type UseOfApps } from '../../adapters/http/apps/apps-router.ts'
import { descriptionFor } from '../../adapters/http/apps/authorization-request.ts'
import { measuredLogin } from '../../adapters/metrics/measured.ts'
import { IssueCode } from '../../application/apps/issue-code.ts'
import { RedeemCode } from '../../application/apps/redeem-code.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import { reportApps } from './reports.ts'
import { siteOf } from './site.ts'
import type { Tenant } from './tenant.ts'

export { appsRouter, descriptionFor }

/** The enabled apps of a tenant and their use cases. The settings were checked, so each app has its backend. */
export function mountedApps(tenant: Tenant, publicUrl: string, lackOf: UseOfApps['apps']['lackOf']): UseOfApps {
  const { settings, backends, log, metrics, ports, useCases } = tenant
  const apps = enabledOf(settings.apps).flatMap(([name, { name: title = name, redirectUris, backend: wanted }]) => {
    return backends.filter((one) => one.name === wanted).map((backend) => ({ name, title, redirectUris, backend }))
  })
  const needs = { ...ports, changeUser: useCases.changeUser }
  return {
    issueCode: new IssueCode(needs),
    redeemCode: measuredLogin(new RedeemCode({ ...needs, backends }), metrics),
    apps: {
      publicUrl,
      byName: new Map(apps.map((app) => [app.name, app])),
      page: appPages(siteOf(tenant, publicUrl), publicUrl),
      report: reportApps(log),
      lackOf,
      clock: ports.clock,
    },
  }
}
