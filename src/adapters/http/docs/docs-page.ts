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
  { title: 'Portcullis API', icon: 'docs/favicon-32x32.png', styles: ['docs/swagger-ui.css', 'docs/contrast.css'] },
  html`<body>
<div id="ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>`,
)

/**
 * Swagger UI has dark colours below a class of its own, and regions and fields without names. The dialog for
 * credentials has no cookies, because a page cannot choose the cookies that the browser sends.
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
const ui = document.getElementById('ui')
const regions = { '.information-container': 'Service', '.scheme-container': 'Servers' }
const fields = { '#servers': 'Server', '.examples-select-element': 'Example', textarea: 'Request body' }
new MutationObserver(() => {
  for (const [part, name] of Object.entries({ ...regions, ...fields })) {
    for (const one of ui.querySelectorAll(part)) one.ariaLabel = name
  }
  for (const one of ui.querySelectorAll(Object.keys(regions))) one.role = 'region'
  for (const heading of ui.querySelectorAll('h3, h4, h5')) heading.ariaLevel = String(heading.tagName[1] - 1)
}).observe(ui, { childList: true, subtree: true })
`

/** Colours with a contrast of 4.5 (WCAG 2.2, 1.4.3) in place of those of Swagger UI, and the blue of our pages. */
const contrast = `
.swagger-ui .opblock-body { overflow-x: auto }
html.dark-mode .swagger-ui table thead tr td.header-col, html.dark-mode .swagger-ui td.header-col { color: #e4e6e6 }
html.dark-mode .swagger-ui .info a { color: #7fb5e6 }
html.dark-mode .swagger-ui .opblock .btn.execute { border-color: #7fb5e6; background: #7fb5e6 }
html.dark-mode .swagger-ui .opblock.opblock-get .opblock-summary-method { background: #7fb5e6 }
html:not(.dark-mode) .swagger-ui .info .title small { background: #5b6270 }
html:not(.dark-mode) .swagger-ui .info .title small.version-stamp { background: #4a6b00 }
html:not(.dark-mode) .swagger-ui .info a { color: #245a8d }
html:not(.dark-mode) .swagger-ui .btn.authorize { border-color: #1c7a4f; color: #1c7a4f }
html:not(.dark-mode) .swagger-ui .btn.cancel { border-color: #c22626; color: #c22626 }
html:not(.dark-mode) .swagger-ui .btn.execute { border-color: #245a8d; background: #245a8d }
html:not(.dark-mode) .swagger-ui .opblock-get .opblock-summary-method { background: #245a8d }
html:not(.dark-mode) .swagger-ui .opblock-post .opblock-summary-method { background: #1c7a4f }
html:not(.dark-mode) .swagger-ui .opblock-patch .opblock-summary-method { background: #0b7a64 }
html:not(.dark-mode) .swagger-ui .opblock-delete .opblock-summary-method { background: #c22626 }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12-expand-deep-button { color: #5b6270 }
`

export function docsRouter(document: unknown): Router<unknown> {
  return {
    tag: 'pages',
    endpoints: [
      pageEndpoint('/openapi.json', () => ({ status: 200, body: document })),
      pageEndpoint('/docs', () => pageReply(page, policy)),
      fileEndpoint('/docs/start.js', () => start),
      fileEndpoint('/docs/contrast.css', () => contrast),
      ...assets.map((name) => fileEndpoint(`/docs/${name}`, () => readFile(new URL(name, folder)))),
    ],
  }
}
