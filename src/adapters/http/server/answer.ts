import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import Koa, { type Context } from 'koa'
import type { Logger } from 'pino'
import { Unavailable } from '../../../domain/refusal.ts'
import { mayGoOn } from '../body/read-body.ts'
import { faultReply, replyTo, Unreadable } from '../errors.ts'
import { send } from '../pipeline/send.ts'
import { demandOfTls, headersOnEvery } from '../reply.ts'
import { unavailableLog } from './unavailable-log.ts'
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
  const logUnavailable = unavailableLog(log)
  return async (ctx, serve, started = performance.now()) => {
    const requestId = requestIdOf(ctx)
    ctx.state.requestId = requestId
    for (const [name, value] of headersOnEvery) ctx.res.setHeader(name, value)
    ctx.res.setHeader('X-Request-Id', requestId)
    if (isTls) ctx.res.setHeader(...demandOfTls)
    let isLogged = false
    try {
      requireReadable(ctx)
      await serve()
    } catch (thrown) {
      const reply = replyTo(thrown)
      isLogged = thrown instanceof Unavailable
      if (thrown instanceof Unavailable) logUnavailable({ requestId, tenant: ctx.state.tenant, err: thrown })
      else if (reply === null) log.error({ requestId, err: thrown }, 'request failed')
      send(ctx, reply ?? faultReply)
    }
    // Or Node would read on, however much it is, to find the next request behind it.
    if (!ctx.req.complete && mayGoOn(ctx.req)) ctx.res.setHeader('Connection', 'close')
    noteUnread(ctx)
    if (!isLogged || logRequests === 'all') logLine(ctx, performance.now() - started)
  }

  function logLine(ctx: Context, milliseconds: number): void {
    // Nobody hears the answer to a body that was never sent: nginx's number for it, which log readers know.
    const isCutOff = ctx.req.readableAborted && ctx.res.statusCode === 400
    const status = isCutOff ? 499 : ctx.res.statusCode
    if (logRequests !== 'all' && status < 500 && milliseconds < slowMilliseconds) return
    // The route's pattern, never the path: a path may hold what somebody typed.
    const route: unknown = ctx.state.route ?? ctx.routerPath ?? ctx._matchedRoute // a guard stands in a route of the app
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

/** The service's own app: `serve` answers every request. */
export function app({ serve, ...needs }: AnsweringNeeds & { readonly serve: (ctx: Context) => Promise<void> }): Koa {
  const koa = new Koa()
  koa.silent = true // every fault is logged where it is answered, once
  const answer = answering(needs)
  koa.use((ctx) => answer(ctx, () => serve(ctx)))
  return koa
}

/** The client's own, so that its log and ours can be read side by side, or a new one. */
function requestIdOf({ req }: Context): string {
  const offered = req.headers['x-request-id']
  return typeof offered === 'string' && requestIdForm.test(offered) ? offered : randomUUID()
}

/** What Node passes on, though nothing below could read it, or others on the way may have read it otherwise. */
function requireReadable(ctx: Context): void {
  if (!isReadable(ctx) || !namesOneHost(ctx.req)) throw new Unreadable(400, 'Bad Request')
  // RFC 9112 section 6.1, also for what follows: HTTP/1.0 knows no codings, so others may see another end of it.
  const coding = ctx.req.headers['transfer-encoding']?.toLowerCase()
  if (coding !== undefined && ctx.req.httpVersion !== '1.1') {
    ctx.res.setHeader('Connection', 'close')
    throw new Unreadable(400, 'Bad Request')
  }
  if (coding !== undefined && coding !== 'chunked') throw new Unreadable(501, 'Not Implemented')
}

/** RFC 3986 section 3.2.2: a name, or an address of IPv6 in brackets; and a port. May be empty. */
const hostForm = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/** RFC 9112 section 3.2. HTTP/1.0 need not name one. Of several, Node keeps the first; other servers may have no raw ones. */
function namesOneHost({ httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  if (headers.host === undefined) return httpVersion !== '1.1'
  let named = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') named++
  }
  return named <= 1 && hostForm.test(headers.host)
}

export function isReadable(ctx: Context): boolean {
  try {
    void ctx.path
    return true
  } catch {
    return false
  }
}
