import type { Context, Middleware } from 'koa'
import type { Authenticated } from '../../../application/sign-in/authenticate.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { type User, type UserView, viewOf } from '../../../domain/user.ts'
import { isPreflight } from '../pipeline/cors.ts'
import { touch } from '../pipeline/identify.ts'
import { serve, type Tenants } from '../pipeline/serve.ts'
import type { Whose } from '../pipeline/whose-request.ts'
import { type AnsweringNeeds, answering, isReadable } from './answer.ts'

/** What a guard leaves in `ctx.state` for whatever stands behind it. */
export interface SignedIn {
  /** Who makes the request. */
  readonly user: UserView
  /** Whose user that is: `portcullis.withTenant(ctx.state.tenant, …)`. Without tenants it is `default`. */
  readonly tenant: string
}

/** Lets a request pass, or answers it as our routes do: 401, 403, 503, or 404 for a tenant that there is not. */
export type Guard = Middleware<SignedIn>

/** Accounts in a Koa app. */
export interface KoaAccounts {
  /**
   * Answers the paths of our routers, whatever the method, exactly as the service does; all else goes on untouched. It
   * reads bodies itself, and so has to stand above any body parser.
   */
  routes(): Middleware
  /** For an active user who presents a living credential of any backend. */
  requireUser(): Guard
  /** As `requireUser`, whose address is verified: 403 for the others. */
  requireVerified(): Guard
  /** As `requireUser`, who is a superuser: 403 for the others. */
  requireSuperuser(): Guard
}

interface Needs extends AnsweringNeeds {
  readonly tenants: Tenants
  readonly whose: Whose
  /** The paths of our routers, known without opening a tenant. */
  readonly paths: {
    isOf(tenant: string, path: string): boolean
    isOfAny(path: string): boolean
  }
}

/** The routes and guards in an app of somebody's own. */
export function accountsInKoa({ tenants, whose, paths, ...needs }: Needs): KoaAccounts {
  const answerTenant = serve({ tenants, whose, process: null })
  const answer = answering(needs)

  /** Tells by path and tenant. A preflight may not say whose it is: then the paths of all tenants are ours. */
  function isOurs(ctx: Context): boolean {
    if (!isReadable(ctx)) return false
    const { id, path } = whose.tell(ctx)
    if (whose.header !== null && isPreflight(ctx)) return paths.isOfAny(path)
    return paths.isOf(id ?? whose.fallback, path)
  }

  const routes: Middleware = (ctx, next) => {
    refuseMounting(ctx)
    return isOurs(ctx) ? apart(ctx, () => answer(ctx, () => answerTenant(ctx))) : next()
  }

  function guard(admits: (user: User) => boolean): Guard {
    return async (ctx, next) => {
      const started = performance.now()
      const found: Found = {}
      try {
        await identify(ctx, found, admits)
      } catch (thrown) {
        const refuse = () => Promise.reject(thrown)
        return apart(ctx, () => answer(ctx, refuse, started), found)
      }
      Object.assign(ctx.state, found.signedIn)
      await next()
    }
  }

  async function identify(ctx: Context, found: Found, admits: (user: User) => boolean): Promise<void> {
    const id = whose.tell(ctx).id ?? whose.fallback
    if (!tenants.knows(id)) throw new Refusal('NOT_FOUND')
    found.tenant = id
    await tenants.use(id, async (tenant) => {
      const by = await tenant.identify(ctx)
      found.by = by
      if (!admits(by.user)) throw new Refusal('FORBIDDEN')
      touch(by)
      found.signedIn = { user: viewOf(by.user), tenant: id }
    })
  }

  return {
    routes: () => routes,
    requireUser: () => guard(() => true),
    requireVerified: () => guard(({ isVerified }) => isVerified),
    requireSuperuser: () => guard(({ isSuperuser }) => isSuperuser),
  }
}

/** What a guard has found out so far. */
interface Found {
  tenant?: string
  by?: Authenticated
  signedIn?: SignedIn
}

/** Our notes on a request are not for the app to read, and the app's are not for us. */
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

/** Links to us, those that providers are given, would lack the path that koa-mount takes away. */
function refuseMounting(ctx: Context): void {
  if (ctx.mountPath === undefined) return
  throw new Error('routes() cannot be mounted below a path: set the prefixes of routers, backends and providers')
}
