import type { Context } from 'koa'
import type { Logger } from 'pino'

/** Whoever sends the headers of a browser can make up as many origins as they like. */
const mostOrigins = 100

/**
 * Tells the operator, once for each origin, that a browser keeps our answers from its pages: these learn no more than
 * that something failed (W3C Fetch, CORS protocol).
 */
export function unreadOrigins(log: Logger): (ctx: Context) => void {
  const told = new Set<string>()
  return ({ req, res, state }) => {
    const { origin, 'sec-fetch-mode': mode, 'sec-fetch-site': site } = req.headers
    // Forms that a provider's page posts carry an origin, too, and are answered to nobody's script.
    if (origin === undefined || mode !== 'cors' || site === 'same-origin') return
    if (res.hasHeader('Access-Control-Allow-Origin') || told.has(origin) || told.size >= mostOrigins) return
    if (!isOrigin(origin)) return
    told.add(origin)
    log.warn({ origin, tenant: state.tenant }, 'browsers keep our answers from pages of an origin that is not allowed')
  }
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}
