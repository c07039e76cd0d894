import cors from '@koa/cors'
import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import { errorReply } from '../errors.ts'
import { send } from './send.ts'

/** Answers a request. */
export type Handle = Middleware

export interface Serving {
  readonly router: Router
  readonly allowedOrigins: readonly string[]
  /** Headers of ours that a page of these origins may send besides the usual ones. */
  readonly allowedHeaders?: readonly string[]
}

/** Answers what `router` has, to whom CORS allows it, and says 404 or 405 to all else. */
export function serving({ router, allowedOrigins, allowedHeaders = [] }: Serving): Handle {
  const all = router.routes()
  const fixed = routesOfFixedPaths(router)
  const crossOrigin = allowedOrigins.length === 0 ? null : corsFor(new Set(allowedOrigins), allowedHeaders)
  // FastAPI has no HEAD; a HEAD that ran a GET could change state without anybody seeing an answer.
  const served = (ctx: Context): unknown => {
    if (ctx.req.method === 'HEAD') return answerUnserved(ctx, router)
    const routes = fixed.get(ctx.path) ?? all
    return routes(ctx as Parameters<Routes>[0], async () => answerUnserved(ctx, router)) // safe: it adds what it needs
  }
  return crossOrigin === null ? served : (ctx) => crossOrigin(ctx, async () => void (await served(ctx)))
}

type Routes = ReturnType<Router['routes']>

/** Of what has no parameters: a router tries its layers one after another, and composes anew those that match. */
function routesOfFixedPaths(router: Router): ReadonlyMap<string, Routes> {
  const byPath = new Map<string, Routes>()
  for (const { path, paramNames } of router.stack) {
    if (typeof path !== 'string' || paramNames.length > 0 || byPath.has(path)) continue
    const few = new Router(router.opts)
    few.stack = router.stack.filter((layer) => layer.match(path))
    byPath.set(path, few.routes())
  }
  return byPath
}

function answerUnserved(ctx: Context, router: Router): void {
  const methods = router.match(ctx.path, ctx.method).path.flatMap(({ methods }) => methods)
  const allowed = [...new Set(methods)].filter((method) => method !== 'HEAD').sort()
  if (allowed.length === 0) send(ctx, errorReply(404, 'Not Found'))
  else send(ctx, errorReply(405, 'Method Not Allowed', { Allow: allowed.join(', ') }))
}

/** Answers preflights, and says on answers whose pages may read them (W3C Fetch, CORS protocol). */
export function corsFor(allowed: ReadonlySet<string>, headers: readonly string[] = []) {
  return cors({
    origin: (ctx) => (allowed.has(ctx.get('Origin')) ? ctx.get('Origin') : ''),
    credentials: true,
    allowMethods: ['GET', 'POST', 'PATCH', 'DELETE'],
    allowHeaders: ['Authorization', 'Content-Type', 'X-Request-Id', ...headers],
    exposeHeaders: ['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
    maxAge: 600,
  })
}
