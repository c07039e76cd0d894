import { leadsToLoopback } from '../../../lib/loopback.ts'
import type { Incoming } from '../endpoint.ts'
import type { Page, Reply } from '../reply.ts'
import { type Html, html } from './html.ts'

/**
 * Allows only own files and requests to the service. Forms work only through the script.
 *
 * @param imageHosts origins of images from other hosts
 */
export function scriptedPagePolicy(imageHosts: readonly string[] = []): string {
  const images = ["'self'", ...imageHosts].join(' ')
  return `default-src 'none'; script-src 'self'; style-src 'self'; img-src ${images}; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`
}

interface Head {
  readonly title: string
  readonly icon: string
  readonly styles: readonly string[]
  readonly script?: string
  /** Default: `en`. */
  readonly language?: string
}

/** The whole document of a page. */
export function documentOf({ title, icon, styles, script, language = 'en' }: Head, body: Html): string {
  const { markup } = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}">
${styles.map((style) => html`<link rel="stylesheet" href="${style}">\n`)}${
  script === undefined ? null : html`<script type="module" src="${script}"></script>\n`
}</head>
${body}
</html>
`
  return markup
}

/** The answer with a document. */
export function pageReply(
  content: Page['content'],
  policy: string,
  more: { status?: number; language?: string } = {},
): Reply {
  const { status = 200, language } = more
  return {
    status,
    page: { type: 'text/html; charset=utf-8', content },
    headers: {
      'Content-Security-Policy': policy,
      // Otherwise a page that opened this one could watch and navigate its window.
      'Cross-Origin-Opener-Policy': 'same-origin',
      ...(language !== undefined && { 'Content-Language': language }),
    },
  }
}

/**
 * Redirects a request to another host name of this machine. A provider leads back to the public URL, and browsers do not
 * send it the cookies of another name. A proxy that does not pass `Host` sends the name or port of its upstream, and would get
 * the same redirect again.
 */
export function redirectHome(
  publicUrl: string,
  path: string,
  { host, query }: Pick<Incoming<never, never, never>, 'host' | 'query'>,
): Reply | null {
  const home = new URL(publicUrl)
  const asked = URL.parse(`${home.protocol}//${host()}`)
  if (!leadsToLoopback(home) || asked === null || !leadsToLoopback(asked)) return null
  if (asked.port !== home.port || asked.hostname === home.hostname) return null
  const search = query.size === 0 ? '' : `?${query}`
  return { status: 303, headers: { Location: `${publicUrl}${path}${search}` } }
}
