import cors from '@koa/cors'
import type Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import { errorReply } from './errors.ts'
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
  const routes = router.routes()
  const crossOrigin = allowedOrigins.length === 0 ? null : corsFor(new Set(allowedOrigins), allowedHeaders)
  // FastAPI has no HEAD; a HEAD that ran a GET could change state without anybody seeing an answer.
  const served = (ctx: Context): unknown =>
    ctx.method === 'HEAD'
      ? answerUnserved(ctx, router)
      : routes(ctx as Parameters<typeof routes>[0], async () => answerUnserved(ctx, router)) // safe: it adds what it needs
  return crossOrigin === null ? served : (ctx) => crossOrigin(ctx, async () => void (await served(ctx)))
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
