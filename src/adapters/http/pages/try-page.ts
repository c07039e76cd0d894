import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type Router from '@koa/router'
import type { Context } from 'koa'
import { leadsToLoopback } from '../../../lib/loopback.ts'
import { errorReply } from '../errors.ts'
import { send } from '../pipeline/send.ts'

/** What the page has to know of a deployment; a front end of somebody's own has it as constants. */
export interface TryConfig {
  readonly backends: readonly { readonly name: string; readonly transport: string; readonly prefix: string }[]
  /** The prefix of each router; `null` for one that is not there. */
  readonly routers: Readonly<Record<string, string | null>>
  readonly providers: readonly {
    readonly name: string
    readonly backend: string
    readonly prefix: string
    readonly associatePrefix: string
    readonly comesBack: Readonly<Record<'login' | 'link', ComesBack>>
  }[]
}

/** How a journey to a provider ends: with code and state on the page, at our callback that goes on to it, or elsewhere. */
export type ComesBack = 'to this page' | 'by redirect' | 'elsewhere'

/** Nothing but its own files, requests to us, and no form that is sent without its script. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

const assets: Readonly<Record<string, string>> = {
  'app.js': 'text/javascript; charset=utf-8',
  'client.js': 'text/javascript; charset=utf-8',
  'words.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

/** Source lies three folders below the package's own, the bundle one. */
const up = import.meta.url.endsWith('.ts') ? '../../../..' : '..'
const folder = new URL(`${up}/examples/browser/`, import.meta.url)

/** Whether the page was installed with us: a deployment may have left `examples/browser` behind. */
export const hasTryPage = existsSync(folder)

/**
 * The page on which everything can be tried, at `/try`; nothing where it was not installed.
 *
 * @param known asked at each request: the port, and so the public URL, is known once the service listens
 */
export function mountTryPage(router: Router, known: () => { publicUrl: string; config: TryConfig }): void {
  if (!hasTryPage) return
  const get = (path: string, answer: (ctx: Context) => unknown): void => {
    router.get(path, (ctx) => (isFromThisMachine(ctx) ? answer(ctx) : send(ctx, errorReply(404, 'Not Found'))))
  }
  get('/try', async (ctx) => {
    const { publicUrl } = known()
    const home = new URL(publicUrl)
    // A journey to a provider comes back to the public URL: cookies of another name of this machine would be missing.
    if (leadsToLoopback(home) && ctx.hostname !== home.hostname) {
      send(ctx, { status: 303, headers: { Location: `${publicUrl}/try${ctx.search}` } })
      return
    }
    ctx.set('Content-Security-Policy', policy)
    ctx.type = 'text/html; charset=utf-8'
    ctx.body = await readFile(new URL('index.html', folder))
  })
  get('/try/config.json', (ctx) => send(ctx, { status: 200, body: known().config }))
  for (const [name, type] of Object.entries(assets)) {
    get(`/try/${name}`, async (ctx) => {
      ctx.type = type
      ctx.body = await readFile(new URL(name, folder))
    })
  }
}

/** Behind a proxy everybody would reach the page; a page of another site could reach it by DNS rebinding. */
function isFromThisMachine({ req, host }: Context): boolean {
  const isForwarded = Object.keys(req.headers).some((name) => name === 'forwarded' || name.startsWith('x-forwarded-'))
  const url = `http://${host}`
  return !isForwarded && URL.canParse(url) && leadsToLoopback(new URL(url))
}
