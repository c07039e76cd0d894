import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type Router from '@koa/router'
import { Type } from 'typebox'
import { endpoint, type Router as Operations } from './endpoint.ts'
import { send } from './send.ts'

/** A store that does not answer, by its technology and by what it is used for. */
interface Failing {
  readonly store: string
  readonly roles: readonly string[]
}

const Alive = Type.Object({ status: Type.Literal('alive') }, { title: 'Alive' })
const Counts = Type.Object({ open: Type.Integer(), disabled: Type.Integer() })
const ofTenants = { tenants: Counts }
const ready = { status: Type.Literal('ready') }
const Ready = Type.Object(ready, { title: 'Ready' })
const ReadyTenants = Type.Object({ ...ready, ...ofTenants }, { title: 'Ready' })
const notReady = {
  detail: Type.Literal('SERVICE_UNAVAILABLE'),
  failing: Type.Array(Type.Object({ store: Type.String(), roles: Type.Array(Type.String()) })),
}
const NotReady = Type.Object(notReady, { title: 'NotReady' })
const NotReadyTenants = Type.Object({ ...notReady, ...ofTenants }, { title: 'NotReady' })

/**
 * What an orchestrator asks: whether to restart us, and whether to send us requests.
 *
 * @param counts of tenants, where there are several; their names are nobody's business
 */
export function operationsRouter(
  failing: () => Promise<readonly Failing[]>,
  counts?: () => { readonly open: number; readonly disabled: number },
): Operations {
  return {
    tag: 'operations',
    prefix: '',
    endpoints: [
      endpoint({
        method: 'GET',
        path: '/healthz',
        operationId: 'operations:healthz',
        summary: 'Whether the process is alive; asks no store',
        access: 'public',
        replies: { 200: { description: 'Alive', body: Alive } },
        refusals: [],
        async handle() {
          return { status: 200, body: { status: 'alive' } }
        },
      }),
      endpoint({
        method: 'GET',
        path: '/readyz',
        operationId: 'operations:readyz',
        summary: 'Whether every store answers',
        access: 'public',
        replies: {
          200: { description: 'Ready', body: counts ? ReadyTenants : Ready },
          503: { description: 'Some stores do not answer', body: counts ? NotReadyTenants : NotReady },
        },
        refusals: [],
        async handle() {
          const stores = await failing()
          const tenants = counts && { tenants: counts() }
          if (stores.length === 0) return { status: 200, body: { status: 'ready', ...tenants } }
          return {
            status: 503,
            headers: { 'Retry-After': '1' },
            body: {
              detail: 'SERVICE_UNAVAILABLE',
              failing: stores.map(({ store, roles }) => ({ store, roles })),
              ...tenants,
            },
          }
        },
      }),
    ],
  }
}

/** Swagger UI draws with `data:` images; everything else comes from here. */
const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

const assets: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Portcullis API</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`
/**
 * Cookies stay out of the dialog that asks for credentials: no page can choose the ones it sends, the browser does,
 * once the login of such a backend was tried.
 */
const start = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#ui',
  persistAuthorization: false,
  plugins: [{
    statePlugins: {
      auth: {
        wrapSelectors: {
          definitionsToAuthorize: (original) => (...given) =>
            original(...given)?.filterNot((scheme) => scheme.some((part) => part.get('in') === 'cookie')),
        },
      },
    },
  }],
})
`

/** The OpenAPI document, and the page on which a developer reads and tries it. */
export function mountDocs(router: Router, document: unknown): void {
  const swaggerFolder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

  router.get('/openapi.json', (ctx) => send(ctx, { status: 200, body: document }))
  router.get('/docs', (ctx) => {
    ctx.set('Content-Security-Policy', docsPolicy)
    ctx.type = 'text/html; charset=utf-8'
    ctx.body = page
  })
  router.get('/docs/start.js', (ctx) => {
    ctx.type = 'text/javascript; charset=utf-8'
    ctx.body = start
  })
  for (const [name, type] of Object.entries(assets)) {
    router.get(`/docs/${name}`, (ctx) => {
      ctx.type = type
      ctx.body = createReadStream(`${swaggerFolder}/${name}`)
    })
  }
}
