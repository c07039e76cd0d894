import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { type Caller, type Limits, unknownCaller, unlimited } from '../../../application/limits/limits.ts'
import type { Authenticated } from '../../../application/sign-in/authenticate.ts'
import { type FieldRules, noFieldRules } from '../../../domain/fields.ts'
import { jsonId } from '../../../domain/ids.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { type ClientTraits, unknownTraits } from '../../../domain/session.ts'
import { acceptedLanguages } from '../../../lib/languages.ts'
import { leadsToLoopback } from '../../../lib/loopback.ts'
import type { Administration } from '../admin/administration.ts'
import { readBody } from '../body/read-body.ts'
import type { Endpoint, Mounted } from '../endpoint.ts'
import { errorReply } from '../errors.ts'
import type { ProblemPage } from '../pages/account/problem-page.ts'
import { type Cookie, type Reply, strictTransportSecurity } from '../reply.ts'
import type { RemoveRepeated } from '../transports/cookie-scopes.ts'
import { isForeign, isOfProxy, isSafe, refuseForeign } from '../transports/http-backend.ts'
import { bodyReader } from './body-reader.ts'
import { isPreflight } from './cors.ts'
import { expectedUserHeader, type Identify, recordUse } from './identify.ts'
import type { Operation, Route, RouteTable } from './route-table.ts'
import { send } from './send.ts'
import type { TenantRouting } from './tenant-routing.ts'

export interface TenantHttp {
  readonly routes: RouteTable
  readonly identify: Identify
  readonly requireLevel: RequireLevel
  readonly isTls: boolean
  /** Its account pages in place of JSON errors; `null` without account pages. */
  readonly problemPage: ProblemPage | null
}

/** As `requireLevel` of the use cases, for the settings of the tenant. */
export type RequireLevel = (by: Authenticated, level?: 1 | 2) => void

export interface Tenants {
  knows(id: string): boolean
  /** Keeps the tenant open until `work` ends. Throws `Unavailable`. */
  use<R>(id: string, work: (tenant: { readonly http: TenantHttp }) => Promise<R>): Promise<R>
}

interface ServeNeeds {
  readonly tenants: Tenants
  readonly routing: TenantRouting
  /** Routes that belong to no tenant; `null` in a Koa app. */
  readonly processRoutes: RouteTable | null
}

export function serve({ tenants, routing, processRoutes }: ServeNeeds): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    if (isPrefetch(ctx)) {
      ctx.state.operation = 'prefetch' // apart in the metrics, because the service is not unavailable
      return send(ctx, errorReply(503, 'SERVICE_UNAVAILABLE', { 'Retry-After': '1' }))
    }
    setPath(ctx, routing.pathOf(ctx))
    if (processRoutes?.has(ctx.path)) {
      if (!(await routing.commonCors()(ctx))) await answerBy(processRoutes, ctx)
      return
    }
    // A preflight only names the headers of its request, so the tenant is unknown (W3C Fetch).
    if (routing.header !== null && isPreflight(ctx)) {
      if (!(await routing.corsOfAll()(ctx))) notFound(ctx)
      return
    }
    const { id: named, path } = routing.tenantOf(ctx)
    const id = named ?? routing.fallback
    setPath(ctx, path)
    // Refusals need CORS headers too: without them a front end sees only a network error.
    if (await routing.corsOf(id)(ctx)) return
    if (!tenants.knows(id)) return notFound(ctx)
    if (routing.areMany) ctx.state.tenant = id
    await tenants.use(id, async ({ http: { routes, isTls, problemPage } }) => {
      if (isTls) ctx.res.setHeader(...strictTransportSecurity)
      ctx.state.problemPage = problemPage
      await answerBy(routes, ctx)
    })
  }
}

/** Koa would parse the address also for the same path. */
function setPath(ctx: Context, path: string): void {
  if (path !== ctx.path) ctx.path = path
}

/** The browser asks in advance, perhaps for nothing. An operation could use up a token or a state for it. */
function isPrefetch(ctx: Context): boolean {
  return String(ctx.req.headers['sec-purpose'] ?? '').startsWith('prefetch')
}

function answerBy(routes: RouteTable, ctx: Context): Promise<void> {
  return routes.answer(ctx, async () => {
    const allowed = routes.methodsAt(ctx.path)
    if (allowed.length === 0) return notFound(ctx)
    send(ctx, errorReply(405, 'Method Not Allowed', { Allow: allowed.join(', ') }))
  })
}

const ofProxies = /^(forwarded|via|x-forwarded-.*|x-real-ip|cf-connecting-ip)$/

/** A proxy could let other machines reach the page, and DNS rebinding could let pages of other sites reach it. */
function isFromThisMachine({ req, host }: Context): boolean {
  if (Object.keys(req.headers).some((name) => ofProxies.test(name))) return false
  // nginx without any `proxy_set_header` sends the name of its upstream as `Host`. But it uses HTTP/1.0 or, from 1.29.7 on,
  // sends no `Connection`, and every browser sends `Connection: keep-alive` by HTTP/1.1.
  if (req.httpVersion === '1.0' || req.headers.connection?.toLowerCase() !== 'keep-alive') return false
  const url = `http://${host}`
  return URL.canParse(url) && leadsToLoopback(new URL(url))
}

/** A page that acts for a user names the user: another account may have signed in meanwhile in another tab. */
function requireExpected({ user }: Authenticated, expected: string | string[] | undefined): void {
  if (expected !== undefined && expected !== String(jsonId(user.id))) throw new Refusal('ANOTHER_USER_SIGNED_IN')
}

function notFound(ctx: Context): void {
  send(ctx, errorReply(404, 'Not Found'))
}

export interface RoutesNeeds {
  readonly identify: Identify
  readonly requireLevel: RequireLevel
  /** Whether browsers send the credential of a backend by themselves. */
  readonly usesCookies: boolean
  /** The origins of our own pages. */
  readonly pageOrigins: ReadonlySet<string>
  /** These, and all others whose pages may use our cookies. */
  readonly ownOrigins: ReadonlySet<string>
  /** These, and the app schemes that may use bearer tokens. */
  readonly allowedOrigins: ReadonlySet<string>
  readonly callerOf: (request: IncomingMessage) => Caller
  readonly traitsOf: (request: IncomingMessage) => ClientTraits
  readonly limits: Pick<Limits, 'request'>
  readonly fieldRules: FieldRules
  readonly formed: (answer: () => Promise<Reply>) => Promise<Reply>
  readonly removeRepeated: RemoveRepeated
  readonly administration: Administration
}

/** For routes that belong to no tenant. */
export const ofNoTenant: RoutesNeeds = {
  async identify() {
    throw new Refusal('UNAUTHORIZED')
  },
  requireLevel() {},
  usesCookies: false,
  pageOrigins: new Set(),
  ownOrigins: new Set(),
  allowedOrigins: new Set(),
  callerOf: () => unknownCaller,
  traitsOf: () => unknownTraits,
  limits: unlimited,
  fieldRules: noFieldRules,
  formed: (answer) => answer(),
  removeRepeated: async () => [],
  administration: { reachesConsole: () => false, requireSuperuser() {}, lackOf: () => null },
}

/** @param use the use cases of the router */
export function routesOf<Use>(router: Mounted<Use>, use: Use, needs: RoutesNeeds): Route[] {
  const { prefix, endpoints, requiresVerification = false } = router
  return endpoints.map((endpoint) => ({
    method: endpoint.method,
    path: `${prefix}${endpoint.path}`,
    answersHead: endpoint.answersHead ?? false,
    operation: answerOf({ ...endpoint, requiresVerification }, use, needs),
  }))
}

/** `check` runs its checks in the order of its lines. */
function answerOf<Use>(
  endpoint: Endpoint<Use> & { readonly requiresVerification: boolean },
  use: Use,
  needs: RoutesNeeds,
): Operation {
  const { access, encoding, target, limit, requiresVerification } = endpoint
  const readFields = bodyReader(endpoint, needs.fieldRules)

  async function check(ctx: Context, params: Readonly<Record<string, string>>): Promise<Reply> {
    if (endpoint.isLocal && !isFromThisMachine(ctx)) throw new Refusal('NOT_FOUND')
    if (endpoint.isOfConsole && !needs.administration.reachesConsole(ctx.req)) throw new Refusal('NOT_FOUND')
    const caller = needs.callerOf(ctx.req)
    ctx.state.client = caller.client
    const raw = readFields === null ? null : await readBody(ctx, encoding)

    const by = access === 'public' ? null : await identify(ctx)
    refusePages(ctx.req.headers)
    if (access === 'superuser') {
      if (!by?.user.isSuperuser) throw new Refusal('FORBIDDEN')
      needs.administration.requireSuperuser(by, ctx.req, !isSafe(ctx.method) && !endpoint.changesNothing)
    }
    if (requiresVerification && by?.user.isVerified === false) throw new Refusal('FORBIDDEN')

    // The casts are safe: `endpoint` checked the types of target and handle against access, body and target.
    const found = target === null ? null : await target({ params, by: by as never }, use)
    if (target !== null && found === null) throw new Refusal('NOT_FOUND')
    const { body, fields } = readFields !== null && raw !== null ? readFields(raw) : { body: null, fields: {} }
    const handle = () =>
      endpoint.handle(
        {
          body: body as never,
          fields,
          target: found as never,
          by: by as never,
          params,
          query: new URLSearchParams(ctx.querystring),
          cookie: ctx.req.headers.cookie,
          authorization: ctx.req.headers.authorization,
          request: {
            requestId: ctx.state.requestId,
            languages: acceptedLanguages(ctx.req.headers['accept-language']),
            caller,
            get traits() {
              return needs.traitsOf(ctx.req)
            },
          },
          isForeign: () => isForeign(ctx.req.headers, needs.ownOrigins) && !isOfProxy(ctx.req.headers),
          isFromThisMachine: () => isFromThisMachine(ctx),
          host: () => ctx.host,
        },
        use,
      )
    if (limit === null || limit === 'passwords') return await handle()
    return await needs.limits.request(limit, caller.client, handle)
  }

  function refusePages(headers: IncomingHttpHeaders): void {
    const { ownOriginsOnly } = endpoint
    if (ownOriginsOnly === true) refuseForeign(headers, needs.ownOrigins)
    if (ownOriginsOnly === 'or apps' && needs.usesCookies) refuseForeign(headers, needs.allowedOrigins)
    if (ownOriginsOnly === 'pages' && !isOfProxy(headers)) refuseForeign(headers, needs.pageOrigins)
  }

  async function identify(ctx: Context): Promise<Authenticated | null> {
    try {
      const by = await needs.identify(ctx.req)
      ctx.state.by = by
      requireExpected(by, ctx.req.headers[expectedUserHeader])
      if (!endpoint.isBeforeFactor) needs.requireLevel(by)
      return by
    } catch (thrown) {
      if (access === 'anybody' && thrown instanceof Refusal) return null
      throw thrown
    }
  }

  function inOwnForm(thrown: unknown): Reply {
    const reply = endpoint.errorReply?.(thrown) ?? null
    if (reply === null) throw thrown
    return reply
  }

  async function withRemovals({ req }: Context, cookies: readonly Cookie[]): Promise<readonly Cookie[]> {
    return [...(await needs.removeRepeated(req, cookies)), ...cookies]
  }

  return async (ctx, params) => {
    ctx.state.operation = endpoint.operationId
    const reply = await needs.formed(() => check(ctx, params).catch(inOwnForm))
    const { cookies } = reply
    send(ctx, cookies === undefined ? reply : { ...reply, cookies: await withRemovals(ctx, cookies) })
    if (ctx.state.by) recordUse(ctx.state.by)
  }
}
