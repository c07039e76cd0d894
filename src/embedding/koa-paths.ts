import type { Context } from 'koa'
import { servedPaths } from '../adapters/http/pipeline/served-paths.ts'
import { isPreflight, type TellTenant } from '../adapters/http/pipeline/whose-request.ts'
import { isReadable } from '../adapters/http/server/answer.ts'
import type { Insides } from '../config/runtime/insides.ts'
import type { Settings } from '../config/settings/schema/schema.ts'
import { defaultTenant } from '../config/settings/tenants.ts'
import { claimsOf } from '../config/settings/validate.ts'

/**
 * Tells the requests that are for us to answer: by their path, and with tenants by whose they are, without that tenant
 * being opened. Where a preflight cannot say whose it is, the paths of all tenants are ours.
 */
export function ourPaths({ settings, tenants }: Insides, tell: TellTenant): (ctx: Context) => boolean {
  const known = new Map<string, (path: string) => boolean>()
  const bySettings = new WeakMap<Settings, (path: string) => boolean>()

  /** Most tenants have the paths of all. */
  function pathsOf(of: Settings): (path: string) => boolean {
    const paths = claimsOf(of).flatMap(({ prefix, operations }) =>
      operations.map((operation) => `${prefix}${operation.slice(operation.indexOf('/'))}`),
    )
    const key = paths.join(' ')
    const isServed = known.get(key) ?? servedPaths(paths)
    known.set(key, isServed)
    bySettings.set(of, isServed)
    return isServed
  }
  const isPathOf = (of: Settings, path: string): boolean => (bySettings.get(of) ?? pathsOf(of))(path)
  const ofTenants = [...(tenants?.enabled.values() ?? [])].map((tenant) => tenant.settings)
  const tellsByHeader = tenants !== null && settings.tenants.by === 'header'

  return (ctx) => {
    if (!isReadable(ctx)) return false
    const { id, path } = tell(ctx)
    if (tellsByHeader && isPreflight(ctx)) return [settings, ...ofTenants].some((one) => isPathOf(one, path))
    return isPathOf(tenants?.enabled.get(id ?? defaultTenant)?.settings ?? settings, path)
  }
}
