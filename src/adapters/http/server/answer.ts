import { randomInt, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { Context } from 'koa'
import type { Logger } from 'pino'
import { jsonId } from '../../../domain/ids.ts'
import { LimitReached, Unavailable } from '../../../domain/refusal.ts'
import { mayBeTooLong } from '../body/read-body.ts'
import { faultReply, replyTo, Unreadable } from '../errors.ts'
import { isNavigation, type ProblemPage } from '../pages/account/problem-page.ts'
import { send } from '../pipeline/send.ts'
import { standardHeaders, strictTransportSecurity } from '../reply.ts'
import { ForeignPage } from '../transports/http-backend.ts'
import { countedLines } from './counted-lines.ts'
import { unlistedOrigins } from './unlisted-origins.ts'

export interface AnsweringNeeds {
  readonly log: Logger
  readonly isTls: boolean
  /** Logged requests: all, or those that fail or take longer than `slowMilliseconds`. */
  readonly logRequests: 'slow' | 'all'
  /** Answers navigations in place of JSON errors, unless the tenant has a page of its own. Absent in a Koa app. */
  readonly problemPage?: ProblemPage
  /** Called for each answer. `operation` is `null` for a request that belongs to no operation. */
  readonly answered?: (operation: string | null, status: number, milliseconds: number) => void
}

const slowMilliseconds = 250

/** A refused client often tries again at once. The delay bounds a flood to one request per second and connection. */
const leastDelayMilliseconds = 1_000
/** The delays differ. Otherwise connections that are refused at one moment would come back at one moment. */
const mostDelayMilliseconds = 2_000
/** Each refused request that already waits adds this time. So up to 1600 of them make fewer than 200 refusals a second. */
const delayPerWaitingMilliseconds = 5
/** Proxies and clients wait longer than this. */
const longestExtraMilliseconds = 8_000

const requestIdForm = /^[A-Za-z0-9._-]{8,64}$/

/** Middleware that gives every answer its request id, its headers, its error and its line in the log. */
export function answering({ log, isTls, logRequests, problemPage, answered }: AnsweringNeeds) {
  const logUnavailable = countedLines<Refused>({
    kindOf: ({ err }) => err.message,
    write: ({ requestId, tenant, err }, requests) =>
      log.error({ requestId, tenant, err, requests }, 'service unavailable'),
  })
  const logLimited = countedLines<Refused & { readonly err: LimitReached }>({
    kindOf: ({ err }) => err.message,
    write: ({ requestId, tenant, client, err: { message: limit, network } }, requests) =>
      log.warn({ limit, requestId, tenant, client, network, requests }, 'limit reached'),
  })
  const logSlow = countedLines<RequestLine>({
    kindOf: ({ tenant, method, route }) => `${tenant} ${method} ${route}`,
    write: (line, requests) => log.info({ ...line, requests }, 'request'),
    outranks: (line, shown) => line.milliseconds > shown.milliseconds,
  })
  const logUnlisted = unlistedOrigins(log)
  let waiting = 0

  async function holdBack(): Promise<void> {
    const extra = Math.min(delayPerWaitingMilliseconds * waiting, longestExtraMilliseconds)
    waiting += 1
    await setTimeout(extra + randomInt(leastDelayMilliseconds, mostDelayMilliseconds))
    waiting -= 1
  }

  /** @param started the time at which the work on the request began, by `performance.now` */
  return async (ctx: Context, next: () => unknown, started = performance.now()): Promise<void> => {
    const requestId = requestIdOf(ctx)
    ctx.state.requestId = requestId
    for (const [name, value] of standardHeaders) ctx.res.setHeader(name, value)
    ctx.res.setHeader('X-Request-Id', requestId)
    if (isTls) ctx.res.setHeader(...strictTransportSecurity)
    try {
      requireReadable(ctx)
      await next()
    } catch (thrown) {
      const reply = replyTo(thrown)
      const { tenant, client } = ctx.state
      if (thrown instanceof Unavailable) logUnavailable({ requestId, tenant, client, err: thrown })
      else if (thrown instanceof LimitReached) logLimited({ requestId, tenant, client, err: thrown })
      else if (reply === null) log.error({ requestId, err: thrown }, 'request failed')
      if (thrown instanceof LimitReached) await holdBack()
      ctx.state.isForeign = thrown instanceof ForeignPage
      send(ctx, reply ?? faultReply)
    }
    // People never see bare JSON.
    if (problemPage !== undefined && ctx.status >= 400 && ctx.type === 'application/json' && isNavigation(ctx)) {
      const page: ProblemPage = ctx.state.problemPage ?? problemPage
      send(ctx, await page(ctx))
    }
    logUnlisted(ctx)
    // Otherwise Node would read the whole body to find the next request.
    if (!ctx.req.complete && mayBeTooLong(ctx.req.headers)) ctx.res.setHeader('Connection', 'close')
    logLine(ctx, performance.now() - started)
  }

  function logLine(ctx: Context, milliseconds: number): void {
    // The client left before its body was complete: 499, as nginx logs it.
    const isAborted = ctx.req.readableAborted && ctx.res.statusCode === 400
    const status = isAborted ? 499 : ctx.res.statusCode
    answered?.(ctx.state.operation ?? null, status, milliseconds)
    const isFailed = status >= 500 && status !== 503
    const isSlow = milliseconds >= slowMilliseconds && status !== 503 && status !== 429
    if (logRequests !== 'all' && !isFailed && !isSlow) return
    // The pattern of the route, because a path may contain private data. For a guard, the router of the host app sets it.
    const route: unknown = ctx.state.route ?? ctx.routerPath ?? ctx._matchedRoute
    const line: RequestLine = {
      requestId: ctx.state.requestId,
      method: ctx.method,
      tenant: ctx.state.tenant,
      route: typeof route === 'string' ? route : null,
      status,
      milliseconds: Math.round(milliseconds),
      userId: ctx.state.by && jsonId(ctx.state.by.user.id),
    }
    if (logRequests === 'all' || isFailed) log.info(line, 'request')
    else logSlow(line)
  }
}

/** A request that was refused by 503 or 429. It has its own line instead of a `RequestLine`. */
interface Refused {
  readonly requestId: string
  readonly tenant: unknown
  readonly client: unknown
  readonly err: Error
}

interface RequestLine {
  readonly requestId: string
  readonly method: string
  readonly tenant: unknown
  readonly route: string | null
  readonly status: number
  readonly milliseconds: number
  readonly userId: unknown
}

/** The id from the client, so that both logs can be compared, or a new one. */
function requestIdOf({ req }: Context): string {
  const offered = req.headers['x-request-id']
  return typeof offered === 'string' && requestIdForm.test(offered) ? offered : randomUUID()
}

/** Refuses requests that Node accepts although their target, host or end is ambiguous. */
function requireReadable(ctx: Context): void {
  if (!isReadable(ctx) || !namesOneHost(ctx.req)) throw new Unreadable(400, 'Bad Request')
  const coding = ctx.req.headers['transfer-encoding']?.toLowerCase()
  // RFC 9112 section 6.1: HTTP/1.0 has no transfer codings, so a proxy may see another end of the request.
  if (coding !== undefined && ctx.req.httpVersion !== '1.1') {
    ctx.res.setHeader('Connection', 'close')
    throw new Unreadable(400, 'Bad Request')
  }
  if (coding !== undefined && coding !== 'chunked') throw new Unreadable(501, 'Not Implemented')
}

/** RFC 3986 section 3.2.2: a name, or an address of IPv6 in brackets; and a port. May be empty. */
const hostForm = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/** RFC 9112 section 3.2; HTTP/1.0 does not require a host. Node keeps the first of several hosts, a proxy perhaps the last. */
function namesOneHost({ httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  if (headers.host === undefined) return httpVersion !== '1.1'
  const named = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
  return named.length <= 1 && hostForm.test(headers.host)
}

export function isReadable(ctx: Context): boolean {
  try {
    void ctx.path
    return true
  } catch {
    return false
  }
}
