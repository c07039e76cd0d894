import { createReadStream } from 'node:fs'
import type Router from '@koa/router'
import { errorReply } from './errors.ts'
import { send } from './send.ts'

/** What an operator and a developer ask the service about itself. */
export interface OperationsNeeds {
  /** Names of the stores that do not answer. */
  readonly failing: () => Promise<readonly string[]>
  /** `null`: neither document nor page are served. */
  readonly docs: { readonly document: unknown; readonly swaggerFolder: string } | null
}

/** Swagger UI sets style attributes and draws with data: images; everything else comes from here. */
const docsPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

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
const start = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#ui', withCredentials: true, persistAuthorization: false })\n`

export function mountOperations(router: Router, { failing, docs }: OperationsNeeds): void {
  router.get('/healthz', (ctx) => send(ctx, { status: 200, body: { status: 'alive' } }))

  router.get('/readyz', async (ctx) => {
    const names = await failing()
    if (names.length === 0) send(ctx, { status: 200, body: { status: 'ready' } })
    else {
      const { status, body, headers } = errorReply(503, 'SERVICE_UNAVAILABLE', { 'Retry-After': '1' })
      send(ctx, { status, body: { ...(body as object), failing: names }, ...(headers && { headers }) })
    }
  })

  if (docs === null) return
  router.get('/openapi.json', (ctx) => send(ctx, { status: 200, body: docs.document }))
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
      ctx.body = createReadStream(`${docs.swaggerFolder}/${name}`)
    })
  }
}
