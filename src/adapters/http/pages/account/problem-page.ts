import type { Context } from 'koa'
import { basePathOf } from '../../../../lib/base-path.ts'
import { brandOf } from '../../../../lib/brand.ts'
import { acceptedLanguages } from '../../../../lib/languages.ts'
import type { Identify } from '../../pipeline/identify.ts'
import type { Reply } from '../../reply.ts'
import { type Html, html } from '../html.ts'
import { documentOf, pageReply } from '../html-page.ts'
import { versionedPath } from '../page-endpoint.ts'
import { textsFor } from './account-document.ts'
import { brandOn, iconNameOf, type Logo } from './brand-header.ts'
import type { Site } from './site.ts'
import type { Texts } from './texts/en.ts'

const policy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/** The pages that a person can go on to. */
interface WaysOn {
  readonly site: Pick<Site, 'name' | 'contact'> & Logo
  readonly publicUrl: string
  readonly identify: Identify
}

/** A page in place of a JSON error. */
export type ProblemPage = (ctx: Context) => Promise<Reply>

/** Whether a person sees the answer: the browser opens it as a page, or the client prefers HTML to JSON. */
export function isNavigation(ctx: Context): boolean {
  if (ctx.get('Sec-Fetch-Mode') === 'navigate') return true
  // Java's `HttpURLConnection` prefers HTML by default, and needs the JSON of a refused POST.
  return ['GET', 'HEAD'].includes(ctx.method) && ctx.accepts('json', 'html') === 'html'
}

/**
 * Tells a person what a JSON error means, with links to go on. It repeats nothing of the request.
 *
 * @param ways `null` without account pages: then the page has no style, and at most a link to try again
 */
export function problemPage(ways: WaysOn | null): ProblemPage {
  return async (ctx) => {
    const texts = textsFor(acceptedLanguages(ctx.req.headers['accept-language']), ways?.site.contact ?? null)
    const journey = journeyOf(ctx)
    const email = ways !== null && journey === 'login' ? await emailOf(ctx, ways.identify) : null
    const title = titleOf(ctx, texts, journey)
    const content = html`<p id="message" class="bad" role="alert">${reasonOf(ctx, texts)}</p>
${email === null ? null : html`<p>${texts.problem.signedInAs.replace('{email}', () => email)}</p>`}
<nav class="links">
${linksOf(ctx, texts, ways, email)}
</nav>`
    const page = ways === null ? plainPage(title, content, texts) : accountPage(title, content, texts, ways)
    return pageReply(page, policy, { status: ctx.status, language: texts.language })
  }
}

function plainPage(title: string, content: Html, { language }: Texts): string {
  const body = html`<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>`
  return documentOf({ title, icon: 'data:,', styles: [], language }, body)
}

function accountPage(title: string, content: Html, { language }: Texts, { site, publicUrl }: WaysOn): string {
  const home = new URL(publicUrl)
  const base = basePathOf(publicUrl)
  const brand = brandOf(site.name, home)
  const styles = [base + versionedPath('/account/style.css'), `${base}/account/theme.css`]
  const body = html`<body>
<header class="brand">${brandOn(base, brand, site)}</header>
<main>
<h1>${title}</h1>
${content}
</main>
</body>`
  const icon = `${base}/account/${iconNameOf(site)}`
  return documentOf({ title: `${title} – ${brand}`, icon, styles, language }, body)
}

/** The flow of the callback at which the problem occurred. */
function journeyOf({ state }: Context): 'login' | 'link' | null {
  const found = /^oauth(-associate)?:.*callback$/.exec(String(state.operation))
  if (found === null) return null
  return found[1] === undefined ? 'login' : 'link'
}

async function emailOf({ req }: Context, identify: Identify): Promise<string | null> {
  try {
    return (await identify(req)).user.email
  } catch {
    return null // without a session, or while a store does not answer
  }
}

function titleOf({ status }: Context, { problem }: Texts, journey: 'login' | 'link' | null): string {
  if (journey === 'link') return problem.linkFailed
  if (journey === 'login') return problem.signInFailed
  return status === 404 ? problem.notFound : problem.title
}

function reasonOf(ctx: Context, { problem, script }: Texts): string {
  if (ctx.status === 401) return problem.notSignedIn
  if (ctx.status === 404) return problem.noSuchPage
  if (ctx.status === 405) return problem.wrongMethod
  const { detail } = JSON.parse(String(ctx.body))
  if (detail === 'Bad Request' && !isFromProvider(ctx)) return problem.badLink
  const errors: Readonly<Record<string, string>> = script.errors
  const code = String(typeof detail === 'object' ? detail.code : detail)
  const text = (Object.hasOwn(errors, code) ? errors[code] : undefined) ?? problem.later
  const seconds = Number(ctx.response.get('Retry-After'))
  return text.replace('$1', seconds < 60 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`)
}

/** Whether a provider sent the person here. Without an error or a code, the link itself is at fault. */
function isFromProvider(ctx: Context): boolean {
  return journeyOf(ctx) !== null && ['error', 'code'].some((name) => ctx.query[name] !== undefined)
}

function linksOf(ctx: Context, texts: Texts, ways: WaysOn | null, email: string | null): Html[] {
  const found = waysOf(ctx, texts, ways, email)
  return found.map(
    ([to, text], index) => html`<a class="button${index === 0 ? '' : ' second'}" href="${to}">${text}</a>`,
  )
}

type Way = readonly [to: string, text: string]

function waysOf(ctx: Context, texts: Texts, ways: WaysOn | null, email: string | null): readonly Way[] {
  const { problem } = texts
  // An empty address is that of the page itself. A callback cannot be repeated.
  const isForLater = [429, 503].includes(ctx.status) && journeyOf(ctx) === null
  const again: readonly Way[] = isForLater ? [['', problem.again]] : []
  if (ways === null) return again
  const account = `${basePathOf(ways.publicUrl)}/account`
  const toAccount: Way = [account, texts.verify.toAccount]
  const isSignInNext = ctx.status === 401 || (journeyOf(ctx) === 'login' && email === null)
  if (isSignInNext) return [[`${account}/sign-in`, texts.signIn.title]]
  if (journeyOf(ctx) !== 'login') return [...again, toAccount]
  return [toAccount, [`${account}/sign-in?another`, problem.another]]
}
