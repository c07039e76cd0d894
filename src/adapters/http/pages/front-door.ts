import { Refusal } from '../../../domain/refusal.ts'
import { basePathOf } from '../../../lib/base-path.ts'
import type { Endpoint, Router } from '../endpoint.ts'
import { type Html, html } from './html.ts'
import { documentOf, pageReply, redirectHome } from './html-page.ts'
import { mailboxPath } from './mailbox-page.ts'
import { pageEndpoint } from './page-endpoint.ts'

/** The pages that the start page links to. */
interface FrontDoor {
  readonly account: boolean
  /** The development pages, for browsers of this machine; `null` on a public service. */
  readonly development: {
    readonly docs: string | null
    readonly mailboxKey: string | null
    readonly hasConsole: boolean
  } | null
}

const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/** `GET /`: a start page on a developer's machine, elsewhere a redirect to the account pages. */
export function frontDoorRouter(door: FrontDoor, publicUrl: string): Router<unknown> {
  return {
    tag: 'pages',
    endpoints: [
      pageEndpoint('/', (incoming) => {
        const isPublic = door.development === null || !incoming.isFromThisMachine()
        if (isPublic && !door.account) throw new Refusal('NOT_FOUND')
        if (isPublic) return { status: 303, headers: { Location: `${publicUrl}/account` } }
        return redirectHome(publicUrl, '/', incoming) ?? pageReply(startPage(basePathOf(publicUrl), door), policy)
      }),
      ...(door.account ? [changePassword(publicUrl)] : []),
    ],
  }
}

/** Leads password managers to the page that changes a password (W3C, A Well-Known URL for Changing Passwords). */
function changePassword(publicUrl: string): Endpoint<unknown> {
  return pageEndpoint('/.well-known/change-password', () => ({
    status: 303,
    headers: { Location: `${publicUrl}/account/password` },
  }))
}

function startPage(base: string, { account, development }: FrontDoor): string {
  const entry = (href: string, title: string, text: string | Html): Html =>
    html`<li><a href="${href}">${title}</a><p class="hint">${text}</p></li>`
  const head = {
    title: 'Portcullis',
    icon: `${base}/try/icon.svg`,
    styles: [`${base}/try/base.css`, `${base}/try/style.css`],
  }
  const body = html`<body class="narrow">
<header>
<img src="${base}/try/icon.svg" alt="" width="32" height="32">
<h1>Portcullis</h1>
</header>
<main>
<section aria-label="Pages">
<p>The service runs. Only browsers on this machine see this page.</p>
<ul class="entries">
${[
  account ? entry(`${base}/account`, 'Account', 'The pages for your users: sign up, sign in, reset, verify.') : null,
  entry(`${base}/try`, 'Try', 'Every feature of a front end on one page, in plain JavaScript.'),
  development?.mailboxKey
    ? entry(`${base}${mailboxPath}?key=${development.mailboxKey}`, 'Mailbox', 'The messages of the service.')
    : null,
  development?.hasConsole
    ? entry(
        `${base}/admin`,
        'Console',
        html`For superusers: find people, see why they cannot log in, and help them. The first one: <code>npx --no-install portcullis superuser create --email ADDRESS</code>`,
      )
    : null,
  development?.docs ? entry(development.docs, 'Docs', 'Every route, with a form to call it.') : null,
]}
</ul>
</section>
</main>
</body>`
  return documentOf(head, body)
}
