import type Router from '@koa/router'
import type { Context } from 'koa'
import { errorReply } from '../errors.ts'
import { corsFor, type Handle, serving } from './route-table.ts'
import { send } from './send.ts'

/** Whose a request is, and its path within that tenant. */
export interface Told {
  /** The name of a tenant, not yet looked up; `null` when the request names none. */
  readonly id: string | null
  readonly path: string
}

export type TellTenant = (ctx: Context) => Told

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

interface Tenancy {
  readonly tell: TellTenant
  /** Whose a request is that names nobody. */
  readonly fallback: string
  readonly knows: (id: string) => boolean
  /** Runs a request in its tenant, which is open meanwhile. */
  readonly use: (id: string, work: (tenant: { readonly handle: Handle }) => Promise<void>) => Promise<void>
  /** Whose pages may read what is answered in the place of a tenant that is not there or cannot be used. */
  readonly originsOf: (id: string) => readonly string[]
  /** The header that tells the tenant, and the origins whose pages may send it; `null` when none does. */
  readonly header: { readonly name: string; readonly origins: () => ReadonlySet<string> } | null
}

/** Takes each request to its tenant; one that nobody knows is answered before anything is opened. */
export function tenancy({ tell, fallback, knows, use, originsOf, header }: Tenancy): Handle {
  const allowedHeaders = header === null ? [] : [header.name]

  return async (ctx, next) => {
    // A preflight names the headers that the request is going to have, and has none of them (W3C Fetch).
    if (header !== null && isPreflight(ctx)) {
      return corsFor(header.origins(), allowedHeaders)(ctx, async () => notFound(ctx))
    }
    const { id: named, path } = tell(ctx)
    const id = named ?? fallback
    if (path !== ctx.path) ctx.path = path
    if (!knows(id)) return inPlaceOf(id, ctx, async () => notFound(ctx))
    ctx.state.tenant = id
    try {
      await use(id, async ({ handle }) => handle(ctx, next))
    } catch (thrown) {
      // A refusal by the tenant itself has these headers already, and gets the same.
      await inPlaceOf(id, ctx, () => Promise.reject(thrown))
    }
  }

  /** Without these headers a front end would see a network that fails, and not why (W3C Fetch, CORS protocol). */
  async function inPlaceOf(id: string, ctx: Context, answer: () => Promise<void>): Promise<void> {
    const origins = originsOf(id)
    if (origins.length === 0) return answer()
    await corsFor(new Set(origins), allowedHeaders)(ctx, answer)
  }
}

/** What needs no tenant is answered by `operations`, all else by `others`. */
export function operationsFirst(operations: Router, allowedOrigins: readonly string[], others: Handle): Handle {
  const serveOperations = serving({ router: operations, allowedOrigins })
  return (ctx, next) => {
    const isOperation = operations.match(ctx.path, ctx.method).path.length > 0
    return isOperation ? serveOperations(ctx, next) : others(ctx, next)
  }
}

export function isPreflight({ method, req }: Context): boolean {
  return method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined
}

function notFound(ctx: Context): void {
  send(ctx, errorReply(404, 'Not Found'))
}
