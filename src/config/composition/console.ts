import { adminRouter, type Use } from '../../adapters/http/admin/admin-router.ts'
import type { Router } from '../../adapters/http/endpoint.ts'
import { consoleRouter } from '../../adapters/http/pages/console/console-router.ts'
import { brandOf } from '../../lib/brand.ts'
import { isLocal } from '../settings/defaults.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import type { Tenant } from './tenant.ts'

export { adminRouter }

/** The largest number of deliveries that is counted, so that counting stays fast while millions wait. */
const mostCounted = 10_000

export function useOfConsole(tenant: Tenant, counts: (() => { open: number; disabled: number }) | null): Use {
  const { id, useCases, ports, failing, storeStates } = tenant
  const { outbox, tokenRequests } = ports
  const count = async (state: 'waiting' | 'dead') => {
    const both = await Promise.all([outbox.count(state, mostCounted), tokenRequests.count(state, mostCounted)])
    return both[0] + both[1]
  }
  return {
    ...useCases,
    tenantName: id,
    async health() {
      await failing()
      const [waiting, dead] = await Promise.all([count('waiting'), count('dead')])
      return { stores: storeStates(), undelivered: { waiting, dead }, tenants: counts?.() ?? null }
    },
  }
}

/** The pages of the console. */
export function pagesOf({ settings, ports }: Tenant, publicUrl: string): Router<unknown> {
  const { http, pages, backends, routers, admin, security } = settings
  const cookie = enabledOf(backends).find(([, { transport }]) => transport.kind === 'cookie')?.[1]
  if (cookie === undefined) throw new Error('the console needs a cookie backend') // the settings were checked
  const prefixOf = ({ enabled, prefix }: { readonly enabled: boolean; readonly prefix: string }) =>
    enabled ? prefix : null
  const site = {
    brand: brandOf(pages.name, new URL(publicUrl)),
    login: cookie.prefix,
    users: routers.users.prefix,
    resetPassword: prefixOf(routers.resetPassword),
    verify: prefixOf(routers.verify),
    factors: prefixOf(routers.factors),
    canInvite: ports.eventHandlers.handles('invited'),
    factorResetHours: security.factorResetHours,
    hasOwnPort: admin.port !== undefined,
  }
  const isAtHome = isLocal(http)
  // Strangers learn nothing, and cause no search: only a developer's machine gets the hint.
  const needsSuperuser = async () => isAtHome && (await ports.users.count({ isSuperuser: true }, 1)).count === 0
  const fields = [...ports.fieldRules.fields.values()]
  return consoleRouter(site, { logo: pages, fields, publicUrl, needsSuperuser })
}
