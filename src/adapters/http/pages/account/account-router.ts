import { readFile } from 'node:fs/promises'
import { tokenInLink } from '../../../../lib/token-in-link.ts'
import type { Endpoint, Router } from '../../endpoint.ts'
import { redirectHome } from '../html-page.ts'
import { fileEndpoint, pageEndpoint, versionedFile } from '../page-endpoint.ts'
import { accountReply, textsFor } from './account-document.ts'
import { bodies } from './bodies.ts'
import { darkNameOf, iconNameOf } from './brand-header.ts'
import { type PageName, pageNames } from './page-data.ts'
import { markPath, type Site, themeOf } from './site.ts'

/** A gate, as of `/try`. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#245a8d"/><path d="M6 27V15a10 10 0 0 1 20 0v12M11 8v17m5-19v21m5-19v17M6 14h20M6 20h20" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>`

/** The pages for accounts. They use only public routes and cookies, so any front end could do the same. */
export function accountRouter(site: Site, publicUrl: string): Router<unknown> {
  const offered = pageNames.filter((name) => isOffered(name, site))
  const { logo, logoDark } = site
  const dark = darkNameOf(site)
  return {
    tag: 'pages',
    endpoints: [
      ...offered.map((name) => accountEndpoint(name, site, publicUrl)),
      ...linked.filter((name) => offered.includes(name)).flatMap((name) => alteredLinks(name, publicUrl)),
      ...offered.map((name) => versionedFile(`/account/${name}.js`)),
      ...(site.hasApps ? [versionedFile('/account/authorize.js')] : []),
      versionedFile('/account/style.css'),
      fileEndpoint('/account/theme.css', () => readTheme(site)),
      ...Object.entries(site.marks).map(([kind, svg]) => fileEndpoint(markPath(kind), () => svg)),
      fileEndpoint(`/account/${iconNameOf(site)}`, () => (logo === null ? icon : readFile(logo))),
      ...(logoDark === null || dark === null ? [] : [fileEndpoint(`/account/${dark}`, () => readFile(logoDark))]),
    ],
  }
}

/** The pages that messages link to. */
const linked = ['reset', 'verify', 'factors'] as const

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
    case 'factors':
      return routes.factors
    default:
      return true
  }
}

async function readTheme({ color, css }: Site): Promise<string> {
  return themeOf(color) + (css === null ? '' : await readFile(css, 'utf8'))
}

function accountEndpoint(name: PageName, site: Site, publicUrl: string): Endpoint<unknown> {
  const path = name === 'account' ? '/account' : (`/account/${name}` as const)
  return pageEndpoint(path, (incoming) => {
    const redirect = redirectHome(publicUrl, path, incoming)
    if (redirect !== null) return redirect
    const texts = textsFor(incoming.request.languages, site.contact)
    return accountReply(name, bodies[name](texts, site), { site, publicUrl, texts })
  })
}
