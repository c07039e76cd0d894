import type { Field } from '../../../../domain/field.ts'
import { basePathOf } from '../../../../lib/base-path.ts'
import { bestLanguage } from '../../../../lib/languages.ts'
import type { Router } from '../../endpoint.ts'
import { brandOn, iconNameOf, type Logo } from '../account/brand-header.ts'
import { titleOf } from '../account/own-fields.ts'
import { html } from '../html.ts'
import { documentOf, pageReply, redirectHome, scriptedPagePolicy } from '../html-page.ts'
import { pageEndpoint, versionedFile, versionedPath } from '../page-endpoint.ts'
import type { ConsoleData, ConsoleSite } from './console-data.ts'
import { de } from './texts/de.ts'
import { en, type Texts } from './texts/en.ts'

const languages: Readonly<Record<string, Texts>> = { en, de }

/** No script can turn text into markup or code, even by mistake (W3C Trusted Types). */
const policy = `${scriptedPagePolicy()}; require-trusted-types-for 'script'; trusted-types 'none'`

interface Needs {
  readonly logo: Logo
  readonly fields: readonly Field[]
  readonly publicUrl: string
  /** Whether there is no superuser yet. Asked at each request of the page. */
  readonly needsSuperuser: () => Promise<boolean>
}

/** The console for superusers. It calls only public routes, so curl can do whatever it does. */
export function consoleRouter(site: ConsoleSite, { logo, fields, publicUrl, needsSuperuser }: Needs): Router<unknown> {
  const base = basePathOf(publicUrl)
  const endpoints = [
    pageEndpoint('/admin', async (incoming) => {
      // At a port of its own, it may have any name.
      const redirect = site.hasOwnPort ? null : redirectHome(publicUrl, '/admin', incoming)
      if (redirect !== null) return redirect
      const texts = languages[bestLanguage(incoming.request.languages, Object.keys(languages)) ?? 'en'] ?? en
      const fieldTitles = Object.fromEntries(fields.map((field) => [field.name, titleOf(field, texts)]))
      const searchedFields = fields.filter(({ unique }) => unique !== null).map((field) => titleOf(field, texts))
      const data = { base, site, texts, fieldTitles, searchedFields, needsSuperuser: await needsSuperuser() }
      return pageReply(consolePage(data, logo), policy, { language: texts.language })
    }),
    versionedFile('/admin/console.js'),
    versionedFile('/admin/admin.css'),
  ]
  return { tag: 'pages', endpoints: endpoints.map((one) => ({ ...one, isOfConsole: true })) }
}

function consolePage(data: ConsoleData, logo: Logo): string {
  const { base, site, texts } = data
  const head = {
    title: `${texts.title} – ${site.brand}`,
    icon: `${base}/account/${iconNameOf(logo)}`,
    styles: [base + versionedPath('/admin/admin.css')],
    script: base + versionedPath('/admin/console.js'),
    language: texts.language,
  }
  const link = (view: string, text: string) => html`<a href="#${view}">${text}</a>`
  const body = html`<body data-page="${JSON.stringify(data)}">
<header>
<b class="brand">${brandOn(base, site.brand, logo)}</b>
<nav id="views" aria-label="${texts.title}" hidden>
${[link('/people', texts.views.people), link('/deliveries', texts.views.deliveries), link('/state', texts.views.state)]}
</nav>
<a id="own-account" href="${base}/account" hidden></a>
</header>
<main>
<p id="message" role="status"></p>
<noscript><p>${texts.noScript}</p></noscript>
<div id="view"><p>${texts.loading}</p></div>
</main>
</body>`
  return documentOf(head, body)
}
