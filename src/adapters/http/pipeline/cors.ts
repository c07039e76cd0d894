import cors from '@koa/cors'
import type { Context } from 'koa'

/** Adds the CORS headers of an answer (W3C Fetch). Resolves to whether it answered a preflight. */
export type CrossOrigin = (ctx: Context, origins: ReadonlySet<string>) => Promise<boolean>

/** @param headers additional headers that a page may send */
export function crossOrigin(headers: readonly string[]): CrossOrigin {
  const asked = new WeakMap<Context, ReadonlySet<string>>()
  const middleware = cors({
    origin: (ctx) => (asked.get(ctx)?.has(ctx.get('Origin')) ? ctx.get('Origin') : ''),
    credentials: true,
    allowMethods: ['GET', 'POST', 'PATCH', 'DELETE'],
    allowHeaders: ['Authorization', 'Content-Type', 'X-Request-Id', ...headers],
    exposeHeaders: ['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
    maxAge: 600,
  })
  return async (ctx, origins) => {
    if (origins.size === 0) return false
    let isAnswered = true
    asked.set(ctx, origins)
    await middleware(ctx, async () => {
      isAnswered = false
    })
    return isAnswered
  }
}

export function isPreflight({ method, req }: Context): boolean {
  return method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined
}
