import type Router from '@koa/router'
import type { Context } from 'koa'
import { errorReply } from './errors.ts'
import { send } from './send.ts'
import { corsFor, type Handle, serving } from './serving.ts'

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

interface Tenancy {
  /** What needs no tenant. */
  readonly operations: Router
  readonly allowedOrigins: readonly string[]
  readonly tell: TellTenant
  /** Whose a request is that names nobody. */
  readonly fallback: string
  readonly knows: (id: string) => boolean
  /** Runs a request in its tenant, which is open meanwhile. */
  readonly use: (id: string, work: (tenant: { readonly handle: Handle }) => Promise<void>) => Promise<void>
  /** The header that tells the tenant, and the origins whose pages may send it; `null` when none does. */
  readonly header: { readonly name: string; readonly origins: () => ReadonlySet<string> } | null
}

/** Takes each request to its tenant; one that nobody knows is answered before anything is opened. */
export function tenancy({ operations, allowedOrigins, tell, fallback, knows, use, header }: Tenancy): Handle {
  const serveOperations = serving({ router: operations, allowedOrigins })

  return async (ctx, next) => {
    if (operations.match(ctx.path, ctx.method).path.length > 0) return serveOperations(ctx, next)
    // A preflight names the headers that the request is going to have, and has none of them (W3C Fetch).
    if (header !== null && isPreflight(ctx)) {
      return corsFor(header.origins(), [header.name])(ctx, async () => notFound(ctx))
    }
    const id = tell(ctx) ?? fallback
    if (!knows(id)) return notFound(ctx)
    ctx.state.tenant = id
    await use(id, async ({ handle }) => handle(ctx, next))
  }
}

function isPreflight({ method, req }: Context): boolean {
  return method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined
}

function notFound(ctx: Context): void {
  send(ctx, errorReply(404, 'Not Found'))
}
