import { readFile } from 'node:fs/promises'
import type { Router } from '../endpoint.ts'
import { html } from '../pages/html.ts'
import { documentOf, pageReply } from '../pages/html-page.ts'
import { fileEndpoint, pageEndpoint } from '../pages/page-endpoint.ts'

/** Swagger UI uses `data:` images. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/** The build copies the files of Swagger UI there. */
const folder = new URL(
  import.meta.url.endsWith('.ts') ? '../../../../dist/swagger-ui/' : './swagger-ui/',
  import.meta.url,
)
const assets = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const

const page = documentOf(
  { title: 'Portcullis API', icon: 'docs/favicon-32x32.png', styles: ['docs/swagger-ui.css'] },
  html`<body>
<div id="ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>`,
)

/**
 * Swagger UI has dark colours below a class of its own. The dialog for credentials has no cookies, because a page cannot
 * choose the cookies that the browser sends.
 */
const start = `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
follow()
dark.addEventListener('change', follow)
SwaggerUIBundle({
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

export function docsRouter(document: unknown): Router<unknown> {
  return {
    tag: 'pages',
    endpoints: [
      pageEndpoint('/openapi.json', () => ({ status: 200, body: document })),
      pageEndpoint('/docs', () => pageReply(page, policy)),
      fileEndpoint('/docs/start.js', () => start),
      ...assets.map((name) => fileEndpoint(`/docs/${name}`, () => readFile(new URL(name, folder)))),
    ],
  }
}
