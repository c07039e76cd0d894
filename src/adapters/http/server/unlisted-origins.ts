import type { Context } from 'koa'
import type { Logger } from 'pino'

/** A client can invent origins, so no more than this many are logged. */
const mostOrigins = 100

/**
 * Logs each origin once whose pages cannot read our answers, because `http.allowedOrigins` does not list it. The front end
 * itself sees only a network error (W3C Fetch, CORS protocol).
 */
export function unlistedOrigins(log: Logger): (ctx: Context) => void {
  const logged = new Set<string>()
  return ({ req, res, state }) => {
    const { origin, 'sec-fetch-mode': mode, 'sec-fetch-site': site } = req.headers
    if (origin === undefined || mode !== 'cors' || site === 'same-origin') return
    const key = `${state.tenant} ${origin}`
    if (res.hasHeader('Access-Control-Allow-Origin') || logged.has(key) || logged.size === mostOrigins) return
    logged.add(key)
    log.warn({ origin, tenant: state.tenant }, 'http.allowedOrigins does not list the origin of a page')
  }
}
