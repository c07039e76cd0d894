import type { Context } from 'koa'

/** Tells whose a request is: the name of a tenant, not yet looked up, or `null` when it names none. */
export type TellTenant = (ctx: Context) => string | null

/** A header that is there twice arrives as one value with a comma, which is no tenant's name. */
export function byHeader(name: string): TellTenant {
  const key = name.toLowerCase()
  return ({ req }) => {
    const value = req.headers[key]
    return typeof value === 'string' ? value : null
  }
}

/** `/t/acme/auth/register` is `/auth/register` of acme from here on. */
export function byPath(prefix: string): TellTenant {
  const start = `${prefix}/`
  return (ctx) => {
    if (!ctx.path.startsWith(start)) return null
    const end = ctx.path.indexOf('/', start.length)
    const tenant = ctx.path.slice(start.length, end === -1 ? undefined : end)
    ctx.path = end === -1 ? '/' : ctx.path.slice(end)
    return tenant
  }
}

/** The host of the request itself: what a proxy says of an earlier one is anybody's word. */
export function byHost(tenantOf: (host: string) => string | null): TellTenant {
  return ({ req }) => {
    const host = (req.headers.host ?? '').toLowerCase().replace(/:\d+$/, '')
    return tenantOf(host)
  }
}
