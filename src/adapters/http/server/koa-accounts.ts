import type { Context, Middleware } from 'koa'
import type { Authenticated } from '../../../application/sign-in/authenticate.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { type User, type UserView, viewOf } from '../../../domain/user.ts'
import { isPreflight } from '../pipeline/cors.ts'
import { recordUse } from '../pipeline/identify.ts'
import { serve, type Tenants } from '../pipeline/serve.ts'
import type { TenantRouting } from '../pipeline/tenant-routing.ts'
import { type AnsweringNeeds, answering, isReadable } from './answer.ts'

export interface SignedIn {
  readonly user: UserView
  /** The tenant of the user, for `portcullis.withTenant(ctx.state.tenant, …)`. Without tenants it is `default`. */
  readonly tenant: string
}

export interface Demands {
  /** `2` requires a login with two factors: 403 `SECOND_FACTOR_REQUIRED` for others. */
  readonly level?: 1 | 2
}

/** Calls the next middleware, or answers like our routes: 401, 403, 503, or 404 for an unknown tenant. */
export type Guard = Middleware<SignedIn>

/** Each guard throws a `TypeError` for other demands than a level of 1 or 2. */
export interface KoaAccounts {
  /**
   * Answers the paths of our routers, with any method, exactly as the service does. Other requests go to the next middleware
   * unchanged. It reads bodies itself, so it must come before any body parser.
   */
  routes(): Middleware
  /** Requires a valid credential of an active user, from any backend. */
  requireUser(demands?: Demands): Guard
  /** Requires a verified user: 403 for others. */
  requireVerified(demands?: Demands): Guard
  /** Requires a superuser: 403 for others. */
  requireSuperuser(demands?: Demands): Guard
}

interface Needs extends AnsweringNeeds {
  readonly tenants: Tenants
  readonly routing: TenantRouting
  /** The paths of our routers, without opening a tenant. */
  readonly paths: {
    isOf(tenant: string, path: string): boolean
    isOfAny(path: string): boolean
  }
}

export function accountsInKoa({ tenants, routing, paths, ...needs }: Needs): KoaAccounts {
  const answerTenant = serve({ tenants, routing, processRoutes: null })
  const answer = answering(needs)

  /** Whether the path belongs to our routes. If a preflight does not name its tenant, the paths of all tenants count. */
  function isOurs(ctx: Context): boolean {
    if (!isReadable(ctx)) return false
    const { id, path } = routing.tenantOf({ req: ctx.req, path: routing.pathOf(ctx) })
    if (routing.header !== null && isPreflight(ctx)) return paths.isOfAny(path)
    return paths.isOf(id ?? routing.fallback, path)
  }

  const routes: Middleware = (ctx, next) => {
    refuseMounting(ctx)
    return isOurs(ctx) ? apart(ctx, () => answer(ctx, () => answerTenant(ctx))) : next()
  }

  function guard(demands: Demands, admits: (user: User) => boolean): Guard {
    const level = levelIn(demands)
    return async (ctx, next) => {
      const started = performance.now()
      const found: Found = {}
      try {
        await identify(ctx, found, { level, admits })
      } catch (thrown) {
        const refuse = () => Promise.reject(thrown)
        return apart(ctx, () => answer(ctx, refuse, started), found)
      }
      Object.assign(ctx.state, found.signedIn)
      await next()
    }
  }

  async function identify(ctx: Context, found: Found, { level, admits }: Admission): Promise<void> {
    const id = guardedTenant(ctx, routing)
    if (!tenants.knows(id)) throw new Refusal('NOT_FOUND')
    found.tenant = id
    await tenants.use(id, async ({ http }) => {
      const by = await http.identify(ctx)
      found.by = by
      http.requireLevel(by, level)
      if (!admits(by.user)) throw new Refusal('FORBIDDEN')
      recordUse(by)
      found.signedIn = { user: viewOf(by.user), tenant: id }
    })
  }

  return {
    routes: () => routes,
    requireUser: (demands = {}) => guard(demands, () => true),
    requireVerified: (demands = {}) => guard(demands, ({ isVerified }) => isVerified),
    requireSuperuser: (demands = {}) => guard(demands, ({ isSuperuser }) => isSuperuser),
  }
}

/** Throws for a slip of the app, such as `{ level: '2' }`. Otherwise the guard would let everybody in. */
function levelIn(demands: Demands): 1 | 2 {
  const isRight = ([name, value]: [string, unknown]): boolean => name === 'level' && (value === 1 || value === 2)
  if (typeof demands !== 'object' || !Object.entries(demands).every(isRight)) {
    throw new TypeError('a guard takes { level: 1 } or { level: 2 }, and nothing else')
  }
  return demands.level ?? 1
}

interface Admission extends Required<Demands> {
  admits(user: User): boolean
}

interface Found {
  tenant?: string
  by?: Authenticated
  signedIn?: SignedIn
}

/**
 * The tenant whose users a guard admits. With tenants by path, it refuses a request if the host app may take it for a request to
 * another tenant. Otherwise users of the tenant `default` could reach the routes of others.
 */
function guardedTenant(ctx: Context, { pathOf, tenantOf, fallback, looselyNamed }: TenantRouting): string {
  const named = tenantOf({ req: ctx.req, path: pathOf(ctx) }).id
  const id = named ?? fallback
  if (looselyNamed === undefined) return id
  if (ctx.mountPath !== undefined) {
    throw new Error('a guard cannot be mounted below a path with tenants by path: it needs the whole path')
  }
  if (looselyNamed(ctx.path) !== named) throw new Refusal('NOT_FOUND')
  const asked = looselyNamed(ctx.originalUrl)
  if (asked !== null && asked !== id) {
    throw new Error('a middleware above the guard removed or changed the tenant in ctx.path')
  }
  const { tenant } = (ctx.params ?? {}) as { readonly tenant?: unknown } // of a router, if there is one
  if (tenant !== undefined && tenant !== id) {
    throw new Error('the parameter :tenant of the route is not at the place of tenants.pathPrefix')
  }
  return id
}

/** Keeps our `ctx.state` apart from that of the app. */
async function apart(ctx: Context, work: () => Promise<void>, state: Found = {}): Promise<void> {
  const { state: theirs, url } = ctx
  ctx.state = state
  try {
    await work()
  } finally {
    ctx.state = theirs
    ctx.url = url
  }
}

/** koa-mount removes its path from the URL, so callback URLs would lack that path. */
function refuseMounting(ctx: Context): void {
  if (ctx.mountPath === undefined) return
  throw new Error('routes() cannot be mounted below a path: set the prefixes of routers, backends and providers')
}
