import cors from '@koa/cors'
import type { Context } from 'koa'

/** Answers preflights and adds the CORS headers of an answer (W3C Fetch). */
export type CrossOrigin = (ctx: Context, origins: ReadonlySet<string>, answer: () => Promise<void>) => Promise<void>

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
  return async (ctx, origins, answer) => {
    if (origins.size === 0) return answer()
    asked.set(ctx, origins)
    await middleware(ctx, answer)
  }
}

export function isPreflight({ method, req }: Context): boolean {
  return method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined
}
