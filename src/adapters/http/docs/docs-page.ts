import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type Router from '@koa/router'
import { send } from '../pipeline/send.ts'

/** Swagger UI draws with `data:` images; everything else comes from here. */
const policy =
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
    ctx.set('Content-Security-Policy', policy)
    ctx.type = 'text/html; charset=utf-8'
    ctx.body = page
  })
  router.get('/docs/start.js', (ctx) => {
    ctx.type = 'text/javascript; charset=utf-8'
    ctx.body = start
  })
  for (const [name, type] of Object.entries(assets)) {
    router.get(`/docs/${name}`, async (ctx) => {
      const content = await contentOf(`${swaggerFolder}/${name}`)
      ctx.type = type
      ctx.body = content
    })
  }
}

const contents = new Map<string, Promise<Buffer>>()

/** Read once: it is more than a megabyte, and anybody may ask for it again and again. */
function contentOf(path: string): Promise<Buffer> {
  const content = contents.get(path) ?? readFile(path)
  contents.set(path, content)
  content.catch(() => contents.delete(path))
  return content
}
