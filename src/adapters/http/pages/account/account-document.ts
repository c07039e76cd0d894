import { basePathOf } from '../../../../lib/base-path.ts'
import { brandOf } from '../../../../lib/brand.ts'
import { bestLanguage } from '../../../../lib/languages.ts'
import { leadsToLoopback } from '../../../../lib/loopback.ts'
import type { Reply } from '../../reply.ts'
import { type Html, html } from '../html.ts'
import { documentOf, pageReply, scriptedPagePolicy } from '../html-page.ts'
import { versionedPath } from '../page-endpoint.ts'
import { brandOn, iconNameOf } from './brand-header.ts'
import type { PageData, PageName } from './page-data.ts'
import type { Site } from './site.ts'
import { de } from './texts/de.ts'
import { en, type Texts } from './texts/en.ts'

const languages: Readonly<Record<string, Texts>> = { en, de }

/**
 * @param wanted the languages of the reader, the preferred one first
 * @param contact the address for questions, which follows each mention of the operator of the service
 */
export function textsFor(wanted: readonly string[], contact: string | null): Texts {
  const texts = languages[bestLanguage(wanted, Object.keys(languages)) ?? 'en'] ?? en
  if (contact === null) return texts
  // Safe: the reviver returns texts for texts.
  return JSON.parse(JSON.stringify(texts), (_, value: unknown) => {
    return typeof value === 'string' ? value.replace(texts.operator, (named) => `${named} (${contact})`) : value
  }) as Texts
}

interface Content {
  readonly title: string
  readonly content: Html
}

/** The answer with a scripted page. Its name is that of its script. */
export function accountReply(
  name: PageName | 'authorize',
  { title, content }: Content,
  { site, publicUrl, texts }: { readonly site: Site; readonly publicUrl: string; readonly texts: Texts },
): Reply {
  const home = new URL(publicUrl)
  const base = basePathOf(home.href)
  const brand = brandOf(site.name, home)
  const data: PageData = {
    base,
    routes: site.routes,
    providers: site.providers,
    sendsLinkOnSignUp: site.sendsLinkOnSignUp,
    minPasswordLength: site.minPasswordLength,
    trustedBrowserDays: site.trustedBrowserDays,
    passkeys: site.passkeys,
    allowedOrigins: site.allowedOrigins,
    texts: texts.script,
  }
  const head = {
    title: `${title} – ${brand}`,
    icon: `${base}/account/${iconNameOf(site)}`,
    styles: [base + versionedPath('/account/style.css'), `${base}/account/theme.css`],
    script: base + versionedPath(`/account/${name}.js`),
    language: texts.language,
  }
  const nameHint = site.name === null && leadsToLoopback(home) ? texts.nameHint : null
  const heading = html`<h1 id="title" tabindex="-1">${title}</h1>`
  const message = html`<p id="message" role="status"></p>`
  const body = html`<body${name === 'account' ? html` class="account"` : null} data-page="${JSON.stringify(data)}">
<header class="brand">${brandOn(base, brand, site)}<a id="back-to-app" hidden></a></header>
<main>
${name === 'account' ? [message, heading] : [heading, message]}
<noscript><p>${texts.noScript}</p></noscript>
${content}
</main>
${nameHint === null ? null : html`<footer><p class="hint">${nameHint}</p></footer>\n`}</body>`
  return pageReply(
    documentOf(head, body),
    scriptedPagePolicy([...imageHosts(site), ...(name === 'factors' ? ['data:'] : [])]),
    { language: texts.language },
  )
}

/** The origins of images that the settings take from other hosts. */
function imageHosts({ providers }: Site): string[] {
  const images = providers.flatMap(({ icon }) => (icon?.startsWith('https:') ? [new URL(icon).origin] : []))
  return [...new Set(images)]
}
