import type { Context, Middleware } from 'koa'
import { touch } from '../adapters/http/pipeline/identify.ts'
import type { Handle } from '../adapters/http/pipeline/route-table.ts'
import { type TellTenant, tenancy } from '../adapters/http/pipeline/whose-request.ts'
import { answering } from '../adapters/http/server/answer.ts'
import type { Authenticated } from '../application/sign-in/authenticate.ts'
import { type TenantHttp, tenantHttp } from '../config/composition/http.ts'
import type { OpenTenant } from '../config/composition/tenant.ts'
import type { Portcullis } from '../config/runtime/embedded.ts'
import { type Insides, insidesOf } from '../config/runtime/insides.ts'
import { SettingsFault } from '../config/settings/schema/fault.ts'
import type { Settings } from '../config/settings/schema/schema.ts'
import { defaultTenant } from '../config/settings/tenants.ts'
import { originsOf, originsOfAll, pathOfTenant, teller } from '../config/tenancy/addressing.ts'
import { Refusal } from '../domain/refusal.ts'
import { type User, type UserView, viewOf } from '../domain/user.ts'
import { ourPaths } from './koa-paths.ts'

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

/**
 * The routes and guards of an open Portcullis, for any Koa app. Throws a `SettingsFault` where the settings do not say
 * where browsers reach the app (`http.publicUrl`).
 */
export function koaAccounts(portcullis: Portcullis): KoaAccounts {
  const insides = insidesOf(portcullis)
  const { settings, log } = insides
  const tell = tellerOf(insides)
  const httpOf = httpOfTenants(insides)
  const handle = handling(insides, tell, httpOf)
  const isOurs = ourPaths(insides, tell)
  const answer = answering({
    log,
    isTls: publicUrlOf(settings).startsWith('https:'),
    logRequests: settings.logs.requests,
  })

  const routes: Middleware = (ctx, next) => {
    refuseMounting(ctx)
    return isOurs(ctx) ? apart(ctx, () => answer(ctx, () => handle(ctx, nothingElse))) : next()
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
    const id = tell(ctx).id ?? defaultTenant
    if (!insides.knows(id)) throw new Refusal('NOT_FOUND')
    found.tenant = id
    await insides.use(id, async (tenant) => {
      const by = await httpOf(tenant).identify(ctx)
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

const nothingElse = async (): Promise<void> => undefined

/** What we note of a request is not for the app to read, nor what the app notes for us. */
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

function publicUrlOf({ http: { publicUrl } }: Settings): string {
  if (publicUrl !== undefined) return publicUrl
  const message = 'is required in a Koa app: the origin under which browsers reach it'
  throw new SettingsFault([{ path: 'http.publicUrl', message, source: 'default' }])
}

function tellerOf({ settings, tenants }: Insides): TellTenant {
  return tenants === null ? ({ path }) => ({ id: defaultTenant, path }) : teller(settings, () => tenants)
}

/** The routes of a tenant, which are built when they are first asked for, and go when it is closed. */
function httpOfTenants({ settings: common }: Insides): (tenant: OpenTenant) => TenantHttp {
  const { by, header } = common.tenants
  const built = new WeakMap<OpenTenant, TenantHttp>()

  function build(tenant: OpenTenant): TenantHttp {
    const { id, settings } = tenant
    return tenantHttp(tenant, {
      strict: false,
      publicUrl: () => publicUrlOf(settings) + pathOfTenant(id, common),
      allowedHeaders: by === 'header' ? [header] : [],
    })
  }

  return (tenant) => {
    const http = built.get(tenant) ?? build(tenant)
    built.set(tenant, http)
    return http
  }
}

function handling({ settings, tenants, knows, use }: Insides, tell: TellTenant, httpOf: (t: OpenTenant) => TenantHttp) {
  const inTenant = (id: string, work: (http: TenantHttp) => Promise<void>): Promise<void> =>
    use(id, (tenant) => work(httpOf(tenant)))
  if (tenants === null) {
    const one: Handle = (ctx, next) => inTenant(defaultTenant, async ({ handle }) => handle(ctx, next))
    return one
  }
  const origins = originsOfAll(settings, tenants)
  const { by, header } = settings.tenants
  return tenancy({
    tell,
    knows,
    fallback: defaultTenant,
    use: inTenant,
    originsOf: (id) => originsOf(id, settings, tenants),
    header: by === 'header' ? { name: header, origins: () => origins } : null,
  })
}
