import { randomUUID } from 'node:crypto'
import type { Context } from 'koa'
import type { Logger } from 'pino'
import { mayGoOn } from './body.ts'
import { faultReply, replyTo, Unreadable } from './errors.ts'
import { demandOfTls, headersOnEvery } from './frame-headers.ts'
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

const slowMilliseconds = 250
const requestIdForm = /^[A-Za-z0-9._-]{8,64}$/

/** The frame of every answer: its id, its line in the log, its errors, its headers. */
export function answering({ log, isTls, logRequests }: AnsweringNeeds): Answering {
  const noteUnread = unreadOrigins(log)
  return async (ctx, serve, started = performance.now()) => {
    const requestId = requestIdOf(ctx)
    ctx.state.requestId = requestId
    for (const [name, value] of headersOnEvery) ctx.res.setHeader(name, value)
    ctx.res.setHeader('X-Request-Id', requestId)
    if (isTls) ctx.res.setHeader(...demandOfTls)
    try {
      requireReadable(ctx)
      await serve()
    } catch (thrown) {
      const reply = replyTo(thrown)
      if (reply === null || reply.status === 503) log.error({ requestId, err: thrown }, 'request failed')
      send(ctx, reply ?? faultReply)
    }
    // Or Node would read on, however much it is, to find the next request behind it.
    if (!ctx.req.complete && mayGoOn(ctx.req)) ctx.res.setHeader('Connection', 'close')
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

/** The client's own, so that its log and ours can be read side by side, or a new one. */
function requestIdOf({ req }: Context): string {
  const offered = req.headers['x-request-id']
  return typeof offered === 'string' && requestIdForm.test(offered) ? offered : randomUUID()
}

/**
 * RFC 9112 section 3.2: Node passes on request targets that are no URL, which nothing below could read, and HTTP/1.1
 * has to say which host is meant.
 */
function requireReadable(ctx: Context): void {
  const { httpVersion, headers } = ctx.req
  if (!isReadable(ctx) || (httpVersion === '1.1' && headers.host === undefined))
    throw new Unreadable(400, 'Bad Request')
}

export function isReadable(ctx: Context): boolean {
  try {
    void ctx.path
    return true
  } catch {
    return false
  }
}
