import { randomUUID } from 'node:crypto'
import cors from '@koa/cors'
import type Router from '@koa/router'
import Koa, { type Context, type Next } from 'koa'
import type { Logger } from 'pino'
import { errorReply, faultReply, replyTo, Unreadable } from './errors.ts'
import { send } from './send.ts'

export interface AppNeeds {
  readonly router: Router
  readonly log: Logger
  readonly allowedOrigins: readonly string[]
  /** Whether browsers reach us by TLS. */
  readonly isTls: boolean
  /** Which answers are logged: all, or errors and those above `slowMilliseconds`. */
  readonly logRequests: 'slow' | 'all'
}

/** On every answer, whatever its status (OWASP HTTP Headers cheat sheet). */
const headers = [
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
] as const
const hsts = 'max-age=31536000; includeSubDomains'

const slowMilliseconds = 250
const requestIdForm = /^[A-Za-z0-9._-]{8,64}$/

/** The outermost file of a request: its id, its line in the log, its errors, its headers. */
export function app({ router, log, allowedOrigins, isTls, logRequests }: AppNeeds): Koa {
  const koa = new Koa()
  koa.silent = true // every fault is logged below, once

  koa.use(async (ctx, next) => {
    const started = performance.now()
    const requestId = requestIdOf(ctx)
    ctx.state.requestId = requestId
    for (const [name, value] of headers) ctx.res.setHeader(name, value)
    ctx.res.setHeader('X-Request-Id', requestId)
    if (isTls) ctx.res.setHeader('Strict-Transport-Security', hsts)
    try {
      requireReadable(ctx)
      await next()
    } catch (thrown) {
      const reply = replyTo(thrown)
      if (reply === null || reply.status === 503) log.error({ requestId, err: thrown }, 'request failed')
      send(ctx, reply ?? faultReply)
    }
    logLine(ctx, performance.now() - started)
  })

  if (allowedOrigins.length > 0) koa.use(corsFor(new Set(allowedOrigins)))
  koa.use(hideHead)
  koa.use(router.routes())
  koa.use((ctx) => answerUnserved(ctx, router))
  return koa

  function logLine(ctx: Context, milliseconds: number): void {
    const { statusCode: status } = ctx.res
    if (logRequests !== 'all' && status < 500 && milliseconds < slowMilliseconds) return
    // The route's pattern, never the path: a path may hold what somebody typed.
    const route: unknown = ctx.routerPath ?? ctx._matchedRoute
    log.info(
      {
        requestId: ctx.state.requestId,
        method: ctx.method,
        route: typeof route === 'string' ? route : null,
        status,
        milliseconds: Math.round(milliseconds),
        userId: ctx.state.by?.user.id,
      },
      'request',
    )
  }

  /** FastAPI has no HEAD; a HEAD that ran a GET could change state without anybody seeing an answer. */
  function hideHead(ctx: Context, next: Next): Promise<void> | void {
    if (ctx.method !== 'HEAD') return next()
    answerUnserved(ctx, router)
  }
}

/** The client's own, so that its log and ours can be read side by side, or a new one. */
function requestIdOf({ req }: Context): string {
  const offered = req.headers['x-request-id']
  return typeof offered === 'string' && requestIdForm.test(offered) ? offered : randomUUID()
}

/** RFC 9112 section 3.2: Node passes on request targets that are no URL, which nothing below could read. */
function requireReadable(ctx: Context): void {
  try {
    void ctx.path
  } catch {
    throw new Unreadable(400, 'Bad Request')
  }
}

function answerUnserved(ctx: Context, router: Router): void {
  const methods = router.match(ctx.path, ctx.method).path.flatMap(({ methods }) => methods)
  const allowed = [...new Set(methods)].filter((method) => method !== 'HEAD').sort()
  if (allowed.length === 0) send(ctx, errorReply(404, 'Not Found'))
  else send(ctx, errorReply(405, 'Method Not Allowed', { Allow: allowed.join(', ') }))
}

function corsFor(allowed: ReadonlySet<string>) {
  return cors({
    origin: (ctx) => (allowed.has(ctx.get('Origin')) ? ctx.get('Origin') : ''),
    credentials: true,
    allowMethods: ['GET', 'POST', 'PATCH', 'DELETE'],
    allowHeaders: ['Authorization', 'Content-Type', 'X-Request-Id'],
    exposeHeaders: ['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
    maxAge: 600,
  })
}
