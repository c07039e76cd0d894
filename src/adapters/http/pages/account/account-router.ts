import { readFile } from 'node:fs/promises'
import { basePathOf } from '../../../../lib/base-path.ts'
import { brandOf } from '../../../../lib/brand.ts'
import { bestLanguage } from '../../../../lib/languages.ts'
import { leadsToLoopback } from '../../../../lib/loopback.ts'
import { tokenInLink } from '../../../../lib/token-in-link.ts'
import type { Endpoint, Router } from '../../endpoint.ts'
import { html } from '../html.ts'
import { documentOf, pageReply, redirectHome, scriptedPagePolicy } from '../html-page.ts'
import { builtFile, fileEndpoint, pageEndpoint } from '../page-endpoint.ts'
import { bodies } from './bodies.ts'
import { type PageData, type PageName, pageNames } from './page-data.ts'
import { iconNameOf, markPath, type Site, themeOf } from './site.ts'
import { de } from './texts/de.ts'
import { en, type Texts } from './texts/en.ts'

const languages: Readonly<Record<string, Texts>> = { en, de }

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#245a8d"/><circle cx="16" cy="12" r="5" fill="#fff"/><path d="M6 27a10 8 0 0 1 20 0z" fill="#fff"/></svg>`

/** The pages for accounts. They use only public routes and cookies, so any front end could do the same. */
export function accountRouter(site: Site, publicUrl: string): Router<unknown> {
  const offered = pageNames.filter((name) => isOffered(name, site))
  const icons = iconNameOf(site)
  return {
    tag: 'pages',
    endpoints: [
      ...offered.map((name) => accountEndpoint(name, site, icons, publicUrl)),
      ...linked.filter((name) => offered.includes(name)).flatMap((name) => alteredLinks(name, publicUrl)),
      ...offered.map((name) => builtFile(`/account/${name}.js`)),
      builtFile('/account/style.css'),
      fileEndpoint('/account/theme.css', () => readTheme(site)),
      ...Object.entries(site.marks).map(([kind, svg]) => fileEndpoint(markPath(kind), () => svg)),
      fileEndpoint(`/account/${icons}`, () => (site.logo === null ? icon : readFile(site.logo))),
    ],
  }
}

/** The pages that messages link to. */
const linked = ['reset', 'verify'] as const

/**
 * Some mail programs encode the `#` of a link, once or twice, so its token comes in the path. The redirect moves it back to the
 * fragment, out of the history of the browser.
 */
function alteredLinks(name: (typeof linked)[number], publicUrl: string): Endpoint<unknown>[] {
  return (['%23', '%2523'] as const).map((mark) =>
    pageEndpoint(`/account/${name}${mark}{*rest}`, ({ params: { rest = '' } }) => {
      const token = tokenInLink(`#${rest}`)
      const fragment = token === null ? '' : `#token=${token}`
      return { status: 303, headers: { Location: `${publicUrl}/account/${name}${fragment}` } }
    }),
  )
}

function isOffered(name: PageName, { routes, allowsDeletion }: Site): boolean {
  switch (name) {
    case 'sign-up':
      return routes.register !== null
    case 'forgot':
    case 'reset':
      return routes.resetPassword !== null
    case 'verify':
      return routes.verify !== null
    case 'delete':
      return allowsDeletion
    default:
      return true
  }
}

async function readTheme({ color, css }: Site): Promise<string> {
  return themeOf(color) + (css === null ? '' : await readFile(css, 'utf8'))
}

function accountEndpoint(name: PageName, site: Site, icons: string, publicUrl: string): Endpoint<unknown> {
  const path = name === 'account' ? '/account' : (`/account/${name}` as const)
  const policy = scriptedPagePolicy(imageHosts(site))
  return pageEndpoint(path, (incoming) => {
    const redirect = redirectHome(publicUrl, path, incoming)
    if (redirect !== null) return redirect
    const texts = languages[bestLanguage(incoming.languages, Object.keys(languages)) ?? 'en'] ?? en
    const content = accountPage(name, texts, { site, icons, home: new URL(publicUrl) })
    return pageReply(content, policy, { language: texts.language })
  })
}

/** The origins of images that the settings take from other hosts. */
function imageHosts({ providers }: Site): string[] {
  const images = providers.flatMap(({ icon }) => (icon?.startsWith('https:') ? [new URL(icon).origin] : []))
  return [...new Set(images)]
}

function accountPage(name: PageName, texts: Texts, { site, icons, home }: { site: Site; icons: string; home: URL }) {
  const base = basePathOf(home.href)
  const brand = brandOf(site.name, home)
  const { title, content } = bodies[name](texts, site)
  const data: PageData = {
    base,
    routes: site.routes,
    providers: site.providers,
    sendsLinkOnSignUp: site.sendsLinkOnSignUp,
    minPasswordLength: site.minPasswordLength,
    returns: { ownOrigin: home.origin, allowedOrigins: site.allowedOrigins },
    texts: texts.script,
  }
  const head = {
    title: `${title} – ${brand}`,
    icon: `${base}/account/${icons}`,
    styles: [`${base}/account/style.css`, `${base}/account/theme.css`],
    script: `${base}/account/${name}.js`,
    language: texts.language,
  }
  const nameHint = site.name === null && leadsToLoopback(home) ? texts.nameHint : null
  const heading = html`<h1 id="title" tabindex="-1">${title}</h1>`
  const message = html`<p id="message" role="status"></p>`
  const body = html`<body${name === 'account' ? html` class="account"` : null} data-page="${JSON.stringify(data)}">
<header class="brand">${site.logo === null ? null : html`<img src="${base}/account/${icons}" alt="">`}<span>${brand}</span><a id="back-to-app" hidden></a></header>
<main>
${name === 'account' ? [message, heading] : [heading, message]}
<noscript><p>${texts.noScript}</p></noscript>
${content}
</main>
${nameHint === null ? null : html`<footer><p class="hint">${nameHint}</p></footer>\n`}</body>`
  return documentOf(head, body)
}
