import type { Context } from 'koa'
import type { Logger } from 'pino'
import { isAppOrigin } from '../../../lib/origins.ts'

/** A client can invent origins, so no more than this many are logged. */
const mostOrigins = 100

/**
 * Logs an origin once if `http.allowedOrigins` does not list it, and its pages are refused or cannot read our answers.
 * The front end itself sees only a network error (W3C Fetch, CORS protocol) or a 403 without a reason.
 */
export function unlistedOrigins(log: Logger): (ctx: Context) => void {
  const logged = new Set<string>()
  return (ctx) => {
    const { origin } = ctx.req.headers
    const { tenant, isForeign = false } = ctx.state
    if (origin === undefined || !(isForeign || isUnreadable(ctx))) return
    const key = `${tenant} ${origin}`
    if (logged.has(key) || logged.size === mostOrigins) return
    logged.add(key)
    const isListedApp = isAppOrigin(origin) && ctx.res.hasHeader('Access-Control-Allow-Origin')
    const what = isListedApp
      ? 'an app of http.allowedOrigins must use bearer tokens, and no cookie'
      : 'http.allowedOrigins does not list the origin of a page'
    log.warn({ origin, tenant }, what)
  }
}

/** Whether the browser hides the answer from the page. */
function isUnreadable({ req, res }: Context): boolean {
  const { 'sec-fetch-mode': mode, 'sec-fetch-site': site } = req.headers
  return mode === 'cors' && site !== 'same-origin' && !res.hasHeader('Access-Control-Allow-Origin')
}
