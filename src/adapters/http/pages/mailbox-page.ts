import { createHash, timingSafeEqual } from 'node:crypto'
import type { KeptMail, Mail, Mailbox } from '../../../application/ports/mailer.ts'
import { dateText } from '../../../lib/date-text.ts'
import type { Router } from '../endpoint.ts'
import type { Reply } from '../reply.ts'
import { type Html, html } from './html.ts'
import { documentOf, pageReply } from './html-page.ts'
import { builtFile, pageEndpoint } from './page-endpoint.ts'

interface Needs {
  readonly mailbox: Pick<Mailbox, 'newestFirst'>
  /** Part of the address, so that nobody reads the messages who reaches only the port. */
  readonly key: string
}

export const mailboxPath = '/try/mailbox'

const policy =
  "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/** A message runs no script and is of no origin. Its links open in a window of their own, outside of the sandbox. */
const messagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-popups allow-popups-to-escape-sandbox; frame-ancestors 'self'"

/** The messages of the mailbox, for browsers on this machine. */
export function mailboxRouter({ mailbox, key }: Needs): Router<unknown> {
  const find = (query: URLSearchParams): KeptMail | undefined => {
    const kept = mailbox.newestFirst()
    return query.has('number') ? kept.find(({ number }) => `${number}` === query.get('number')) : kept[0]
  }
  const withKey = (query: URLSearchParams, act: () => Reply): Reply =>
    isSame(query.get('key') ?? '', key) ? act() : pageReply(withoutKey, policy, { status: 403 })

  const endpoints = [
    pageEndpoint(mailboxPath, ({ query }) =>
      withKey(query, () => pageReply(listPage(mailbox.newestFirst(), find(query), key), policy)),
    ),
    pageEndpoint(`${mailboxPath}/message`, ({ query }) =>
      withKey(query, () => {
        const content = shownHtml(find(query)?.mail)
        return pageReply(content.replace('<head>', '<head><base target="_blank">'), messagePolicy)
      }),
    ),
    builtFile(`${mailboxPath}/mailbox.css`),
    builtFile(`${mailboxPath}/mailbox-refresh.js`),
  ]
  return { tag: 'pages', endpoints: endpoints.map((one) => ({ ...one, isLocal: true })) }
}

/** The HTML with its images, which a mail program takes from the message. */
function shownHtml({ html, images = [] }: Pick<Mail, 'html' | 'images'> = { html: null }): string {
  return images.reduce((shown, { cid, type, content }) => {
    return shown.replaceAll(`cid:${cid}`, `data:${type};base64,${Buffer.from(content).toString('base64')}`)
  }, html ?? '')
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}

function page(title: string, content: Html, script: { script?: string } = {}): string {
  const body = html`<body>
<main>
<h1>Mailbox</h1>
${content}
</main>
</body>`
  return documentOf({ title, icon: 'icon.svg', styles: ['mailbox/mailbox.css'], ...script }, body)
}

const withoutKey = page(
  'Mailbox',
  html`<p>This page needs the key in its address. The service prints the whole address when it starts, and its
<a href="../">start page</a> leads there.</p>`,
)

// The addresses are relative, because a tenant may have a prefix before its paths.
function listPage(kept: readonly KeptMail[], shown: KeptMail | undefined, key: string): string {
  const linkTo = (number: number): string => `?${new URLSearchParams({ key, number: `${number}` })}`
  const intro = html`<p>The last messages of this process, the newest first. New ones appear by themselves. <a href="../">Start page</a></p>
<noscript><p><a href="?${new URLSearchParams({ key }).toString()}">Look for new ones</a></p></noscript>`
  const refreshing = { script: 'mailbox/mailbox-refresh.js' }
  if (shown === undefined) return page('Mailbox', html`${intro}<p>There are no messages yet.</p>`, refreshing)
  const items = kept.map(({ number, at, mail }) => {
    const current = number === shown.number ? html` aria-current="true"` : null
    return html`<li><a href="${linkTo(number)}"${current}><b>${mail.subject}</b><time>${dateText(at, 'en', 'UTC')}</time><span>${breakable(mail.to)}</span></a></li>`
  })
  const { mail, number } = shown
  const { name, address } = mail.from
  return page(
    `${mail.subject} – Mailbox`,
    html`${intro}
<ul class="mails">
${items}
</ul>
<h2>${mail.subject}</h2>
<p class="hint">From ${name === null ? address : `${name} <${address}>`} to ${breakable(mail.to)}</p>
${mail.html === null ? null : html`<iframe title="The message" src="mailbox/message${linkTo(number)}"></iframe>`}
<h3>Text</h3>
<pre>${withLinks(mail.text)}</pre>`,
    refreshing,
  )
}

/** An address that a narrow page breaks before the `@`. */
function breakable(email: string): Html {
  const at = email.lastIndexOf('@')
  return html`${email.slice(0, at)}<wbr>${email.slice(at)}`
}

function withLinks(text: string): readonly Html[] {
  return text
    .split(/(https?:\/\/[^\s<]+)/)
    .map((part, index) =>
      index % 2 === 0 ? html`${part}` : html`<a href="${part}" target="_blank" rel="noopener">${part}</a>`,
    )
}
