import type { Context } from 'koa'

/** Whose a request is, and its path within that tenant. */
export interface Told {
  /** The name of a tenant, not yet looked up; `null` when the request names none. */
  readonly id: string | null
  readonly path: string
}

export type TellTenant = (ctx: Context) => Told

/** How requests tell their tenant. */
export interface Whose {
  readonly tell: TellTenant
  /** Whose a request is that names nobody. */
  readonly fallback: string
  /** Whether there may be several, which the log then names. */
  readonly areMany: boolean
  /** The header that names the tenant; `null` when none does. */
  readonly header: string | null
  /** The origins whose pages may read a tenant's answers, also those given in place of it. */
  originsOf(id: string): ReadonlySet<string>
  /** Those of the service itself, and of all tenants. */
  readonly commonOrigins: ReadonlySet<string>
  originsOfAll(): ReadonlySet<string>
}

/** A header that is there twice arrives as one value with a comma, which is no tenant's name. */
export function byHeader(name: string): TellTenant {
  const key = name.toLowerCase()
  return ({ req, path }) => {
    const value = req.headers[key]
    return { id: typeof value === 'string' ? value : null, path }
  }
}

/** `/t/acme/auth/register` is `/auth/register` of acme. */
export function byPath(prefix: string): TellTenant {
  const start = `${prefix}/`
  return ({ path }) => {
    if (!path.startsWith(start)) return { id: null, path }
    const end = path.indexOf('/', start.length)
    if (end === -1) return { id: path.slice(start.length), path: '/' }
    return { id: path.slice(start.length, end), path: path.slice(end) }
  }
}

/** The host of the request itself: what a proxy says of an earlier one is anybody's word. */
export function byHost(tenantOf: (host: string) => string | null): TellTenant {
  return ({ req, path }) => {
    const host = (req.headers.host ?? '').toLowerCase().replace(/:\d+$/, '')
    return { id: tenantOf(host), path }
  }
}
