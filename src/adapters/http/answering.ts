import { randomUUID } from 'node:crypto'
import type { Context } from 'koa'
import type { Logger } from 'pino'
import { faultReply, replyTo, Unreadable } from './errors.ts'
import { send } from './send.ts'
import { unreadOrigins } from './unread-origins.ts'

export interface AnsweringNeeds {
  readonly log: Logger
  /** Whether browsers reach us by TLS. */
  readonly isTls: boolean
  /** Which answers are logged: all, or errors and those above `slowMilliseconds`. */
  readonly logRequests: 'slow' | 'all'
}

/**
 * Answers a request by `serve`, or by what it throws, in a frame that is the same for all.
 *
 * @param started when the request's work began, by `performance.now`; now, unless it is given
 */
export type Answering = (ctx: Context, serve: () => unknown, started?: number) => Promise<void>

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

/** The frame of every answer: its id, its line in the log, its errors, its headers. */
export function answering({ log, isTls, logRequests }: AnsweringNeeds): Answering {
  const noteUnread = unreadOrigins(log)
  return async (ctx, serve, started = performance.now()) => {
    const requestId = requestIdOf(ctx)
    ctx.state.requestId = requestId
    for (const [name, value] of headers) ctx.res.setHeader(name, value)
    ctx.res.setHeader('X-Request-Id', requestId)
    if (isTls) demandTls(ctx)
    try {
      requireReadable(ctx)
      await serve()
    } catch (thrown) {
      const reply = replyTo(thrown)
      if (reply === null || reply.status === 503) log.error({ requestId, err: thrown }, 'request failed')
      send(ctx, reply ?? faultReply)
    }
    noteUnread(ctx)
    logLine(ctx, performance.now() - started)
  }

  function logLine(ctx: Context, milliseconds: number): void {
    const { statusCode: status } = ctx.res
    if (logRequests !== 'all' && status < 500 && milliseconds < slowMilliseconds) return
    // The route's pattern, never the path: a path may hold what somebody typed.
    const route: unknown = ctx.routerPath ?? ctx._matchedRoute
    log.info(
      {
        requestId: ctx.state.requestId,
        method: ctx.method,
        tenant: ctx.state.tenant,
        route: typeof route === 'string' ? route : null,
        status,
        milliseconds: Math.round(milliseconds),
        userId: ctx.state.by?.user.id,
      },
      'request',
    )
  }
}

/** Tells the browser to come by TLS only (RFC 6797), as it did this time. */
export function demandTls(ctx: Context): void {
  ctx.res.setHeader('Strict-Transport-Security', hsts)
}

/** The client's own, so that its log and ours can be read side by side, or a new one. */
function requestIdOf({ req }: Context): string {
  const offered = req.headers['x-request-id']
  return typeof offered === 'string' && requestIdForm.test(offered) ? offered : randomUUID()
}

/** RFC 9112 section 3.2: Node passes on request targets that are no URL, which nothing below could read. */
function requireReadable(ctx: Context): void {
  if (!isReadable(ctx)) throw new Unreadable(400, 'Bad Request')
}

export function isReadable(ctx: Context): boolean {
  try {
    void ctx.path
    return true
  } catch {
    return false
  }
}
