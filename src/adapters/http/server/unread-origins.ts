import type { Context } from 'koa'
import type { Logger } from 'pino'

/** Whoever sends the headers of a browser can make up as many origins as they like: in an hour, this many are told. */
const mostOrigins = 100
const hourMilliseconds = 3_600_000
/** RFC 1035 section 2.3.4, with a scheme and a port. */
const longestOrigin = 270

/**
 * Tells the operator, once an hour for each origin at each tenant, that a browser keeps our answers from its pages: these
 * learn no more than that something failed (W3C Fetch, CORS protocol).
 */
export function unreadOrigins(log: Logger): (ctx: Context) => void {
  const told = new Set<string>()
  let since = performance.now()
  return ({ req, res, state }) => {
    const { origin, host, 'sec-fetch-mode': mode, 'sec-fetch-site': site } = req.headers
    // Forms that a provider's page posts carry an origin, too, and are answered to nobody's script.
    if (origin === undefined || mode !== 'cors' || site === 'same-origin') return
    if (res.hasHeader('Access-Control-Allow-Origin') || !isOrigin(origin)) return
    if (new URL(origin).host === host) return // by what only pretends to be a browser, such as Node's own `fetch`
    if (performance.now() - since > hourMilliseconds) {
      told.clear()
      since = performance.now()
    }
    const line = `${state.tenant} ${origin}`
    if (told.has(line) || told.size >= mostOrigins) return
    told.add(line)
    log.warn({ origin, tenant: state.tenant }, 'browsers keep answers from pages of another origin')
  }
}

function isOrigin(text: string): boolean {
  return text.length <= longestOrigin && URL.canParse(text) && new URL(text).origin === text
}
