import { createHash, timingSafeEqual } from 'node:crypto'
import type { KeptMail, Mailbox } from '../../../application/ports/mailer.ts'
import { escapeHtml } from '../../../lib/escape-html.ts'
import { endpoint, type Router } from '../endpoint.ts'
import type { Reply } from '../reply.ts'

interface Needs {
  readonly mailbox: Pick<Mailbox, 'newestFirst'>
  /** Part of the address that the start prints, because other users of this machine reach loopback, too. */
  readonly key: string
}

export const mailboxPath = '/try/mailbox'
const html = 'text/html; charset=utf-8'

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; padding: 16px; max-width: 900px; }
ol { list-style: none; margin: 0 0 24px; padding: 0; border: 1px solid #8886; border-radius: 6px; max-height: 40vh; overflow: auto; }
li + li { border-top: 1px solid #8886; }
li a { display: flex; flex-wrap: wrap; gap: 0 16px; padding: 8px 12px; color: inherit; text-decoration: none; }
li a:hover, li a:focus-visible, li a[aria-current] { background: #8882; }
li span { overflow-wrap: anywhere; }
li span:last-child { flex: 1 0 100%; font-weight: 600; }
iframe { box-sizing: border-box; width: 100%; height: 560px; border: 1px solid #8886; border-radius: 6px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 12px; border: 1px solid #8886; border-radius: 6px; }
`
const styleHash = createHash('sha256').update(style).digest('base64')
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`

/** A message runs no script and is of no origin. Its links open in a window of their own, outside of the sandbox. */
const messagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; sandbox allow-popups allow-popups-to-escape-sandbox; frame-ancestors 'self'"

/** The messages of the mailbox, for browsers on this machine. */
export function mailboxRouter({ mailbox, key }: Needs): Router {
  const find = (query: URLSearchParams): KeptMail | undefined => {
    const kept = mailbox.newestFirst()
    return query.has('number') ? kept.find(({ number }) => `${number}` === query.get('number')) : kept[0]
  }
  const withKey = (query: URLSearchParams, act: () => Reply): Reply =>
    isSame(query.get('key') ?? '', key) ? act() : pageReply(403, withoutKey, policy)

  return {
    tag: 'pages',
    prefix: '',
    endpoints: [
      endpoint({
        method: 'GET',
        path: mailboxPath,
        operationId: `page:${mailboxPath}`,
        summary: 'The messages of the mailbox',
        access: 'public',
        isLocal: true,
        handle: async ({ query }) =>
          withKey(query, () => pageReply(200, listPage(mailbox.newestFirst(), find(query), key), policy)),
      }),
      endpoint({
        method: 'GET',
        path: `${mailboxPath}/message`,
        operationId: `page:${mailboxPath}/message`,
        summary: 'The HTML of a message',
        access: 'public',
        isLocal: true,
        handle: async ({ query }) =>
          withKey(query, () => {
            const content = find(query)?.mail.html ?? ''
            return pageReply(200, content.replace('<head>', '<head><base target="_blank">'), messagePolicy)
          }),
      }),
    ],
  }
}

function pageReply(status: number, content: string, contentPolicy: string): Reply {
  return { status, page: { type: html, content }, headers: { 'Content-Security-Policy': contentPolicy } }
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${style}</style></head>
<body>
<h1>${title}</h1>
${body}
</body>
</html>
`
}

const withoutKey = page(
  'Mailbox',
  '<p>This page needs the key in its address. The service prints the whole address when it starts.</p>',
)

function listPage(kept: readonly KeptMail[], shown: KeptMail | undefined, key: string): string {
  // Relative, because a tenant may have a prefix before its paths.
  const link = (number: number, at = ''): string => `${at}?key=${encodeURIComponent(key)}&amp;number=${number}`
  const items = kept.map(({ number, at, mail }) => {
    const time = at.toISOString().slice(11, 19)
    const current = number === shown?.number ? ' aria-current="true"' : ''
    return `<li><a href="${link(number)}"${current}><span>${time}</span><span>${escapeHtml(mail.to)}</span><span>${escapeHtml(mail.subject)}</span></a></li>`
  })
  const reload = `<p>The last messages of this process (times in UTC). <a href="?key=${encodeURIComponent(key)}">Look for new ones</a></p>`
  if (shown === undefined) return page('Mailbox', `${reload}\n<p>There are no messages yet.</p>`)
  const { mail, number } = shown
  return page(
    'Mailbox',
    `${reload}
<ol>
${items.join('\n')}
</ol>
<h2>${escapeHtml(mail.subject)}</h2>
<p>From ${escapeHtml([mail.from.name, mail.from.address].filter((one) => one !== null).join(', '))} to ${escapeHtml(mail.to)}</p>
${mail.html === null ? '' : `<iframe title="The message" src="${link(number, 'mailbox/message')}"></iframe>`}
<h3>Text</h3>
<pre>${withLinks(mail.text)}</pre>`,
  )
}

function withLinks(text: string): string {
  return escapeHtml(text).replace(
    /https?:\/\/[^\s<]+/g,
    (url) => `<a href="${url}" target="_blank" rel="noopener">${url}</a>`,
  )
}
