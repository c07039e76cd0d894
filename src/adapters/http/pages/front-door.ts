import { leadsToLoopback } from '../../../lib/loopback.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { type Html, html } from './html.ts'
import { mailboxPath } from './mailbox-page.ts'

/** The pages that the start page links to. */
export interface FrontDoor {
  readonly account: boolean
  /** The development pages, for browsers of this machine; `null` on a public service. */
  readonly development: { readonly docs: boolean; readonly mailbox: boolean } | null
}

const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/** `GET /`: a start page on a developer's machine, elsewhere a redirect to the account pages. */
export function frontDoorRouter(door: FrontDoor, publicUrl: () => string): Router {
  return {
    tag: 'pages',
    prefix: '',
    endpoints: [
      endpoint({
        method: 'GET',
        path: '/',
        operationId: 'page:/',
        summary: 'The start page',
        access: 'public',
        async handle({ host }) {
          const home = new URL(publicUrl())
          const isElsewhere = leadsToLoopback(home) && host !== home.hostname
          if (door.development === null) return { status: 303, headers: { Location: `${publicUrl()}/account` } }
          if (isElsewhere) return { status: 303, headers: { Location: `${publicUrl()}/` } }
          const base = home.pathname === '/' ? '' : home.pathname
          return {
            status: 200,
            page: { type: 'text/html; charset=utf-8', content: startPage(base, door) },
            headers: { 'Content-Security-Policy': policy },
          }
        },
      }),
    ],
  }
}

function startPage(base: string, { account, development }: FrontDoor): string {
  const entry = (href: string, title: string, text: string): Html =>
    html`<li><a href="${href}">${title}</a><p class="hint">${text}</p></li>`
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Portcullis</title>
<link rel="icon" href="${base}/try/icon.svg">
<link rel="stylesheet" href="${base}/try/base.css">
<link rel="stylesheet" href="${base}/try/style.css">
</head>
<body class="narrow">
<header>
<img src="${base}/try/icon.svg" alt="" width="32" height="32">
<h1>Portcullis</h1>
</header>
<main>
<section aria-label="Pages">
<p>The service runs. Only browsers on this machine see this page.</p>
<ul class="entries">
${[
  ...(account
    ? [entry(`${base}/account`, 'Account', 'The pages for your users: sign up, sign in, reset, verify.')]
    : []),
  entry(`${base}/try`, 'Try', 'Every feature of a front end on one page, in plain JavaScript.'),
  ...(development?.mailbox
    ? [
        entry(
          `${base}${mailboxPath}`,
          'Mailbox',
          'The messages of the service. The terminal shows its address with the key.',
        ),
      ]
    : []),
  ...(development?.docs ? [entry('/docs', 'Docs', 'Every route, with a form to call it.')] : []),
]}
</ul>
</section>
</main>
</body>
</html>
`
  return markup
}
