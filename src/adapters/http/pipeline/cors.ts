import cors from '@koa/cors'
import type { Context } from 'koa'
import { isAppOrigin } from '../../../lib/origins.ts'

/** Adds the CORS headers of an answer (W3C Fetch). Resolves to whether it answered a preflight. */
export type CrossOrigin = (ctx: Context) => Promise<boolean>

/** The pages of other origins that may read answers, and the headers that they may send in addition to the usual ones. */
interface CorsPolicy {
  readonly origins: ReadonlySet<string>
  /** Origins that may only read answers to requests without a cookie. */
  readonly withoutCookie: ReadonlySet<string>
  readonly headers: readonly string[]
  /** Called with the names of headers that a page of a known origin may not send. */
  readonly refused: (headers: readonly string[]) => void
}

export function crossOrigin(policy: CorsPolicy): CrossOrigin {
  const ofPolicy = crossOriginOf(policy)
  return async (ctx) => {
    if (await ofPolicy(ctx)) return true
    if (isOfEverybody(ctx) && !ctx.res.hasHeader(allowOrigin)) ctx.set(allowOrigin, '*')
    return false
  }
}

const allowOrigin = 'Access-Control-Allow-Origin'

/** Scripts of any page may verify tokens: they read the keys and the description of the issuer, which everybody may know. */
function isOfEverybody({ path }: Context): boolean {
  return path.startsWith('/.well-known/')
}

function crossOriginOf({ origins, withoutCookie, headers, refused }: CorsPolicy): CrossOrigin {
  if (origins.size + withoutCookie.size === 0) return async () => false
  const isKnown = (origin: string): boolean => origins.has(origin) || withoutCookie.has(origin)
  const allowed = ['Authorization', 'Content-Type', 'X-Request-Id', ...headers]
  const lower = new Set(allowed.map((name) => name.toLowerCase()))
  const middleware = cors({
    origin: (ctx) => (isKnown(ctx.get('Origin')) ? ctx.get('Origin') : ''),
    credentials: (ctx) => origins.has(ctx.get('Origin')) && !isAppOrigin(ctx.get('Origin')),
    allowMethods: ['GET', 'POST', 'PATCH', 'DELETE'],
    allowHeaders: allowed,
    exposeHeaders: ['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
    maxAge: 600,
  })
  return async (ctx) => {
    if (isPreflight(ctx) && isKnown(ctx.get('Origin'))) {
      const wanted = ctx.get('Access-Control-Request-Headers').toLowerCase().split(',')
      refused(wanted.map((name) => name.trim()).filter((name) => name !== '' && !lower.has(name)))
    }
    let isAnswered = true
    await middleware(ctx, async () => {
      isAnswered = false
    })
    return isAnswered
  }
}

export function isPreflight({ method, req }: Context): boolean {
  return method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined
}
