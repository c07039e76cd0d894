import type { Context } from 'koa'
import type { Cookie, Reply } from '../reply.ts'

/** Writes a reply to the answer. */
export function send(ctx: Context, { status, body, page, headers, cookies }: Reply): void {
  ctx.status = status
  if (headers !== undefined) ctx.set(headers as Record<string, string>) // safe: `set` only reads it
  if (cookies !== undefined) ctx.append('Set-Cookie', cookies.map(headerOf))
  if (page !== undefined) {
    ctx.set('Content-Type', page.type)
    ctx.body = page.content
    return
  }
  if (body === undefined) {
    // 202 and 200 without a body: an empty one, not Koa's status text.
    if (status !== 204) ctx.length = 0
    ctx.body = status === 204 ? null : ''
    ctx.remove('Content-Type')
    return
  }
  ctx.set('Content-Type', 'application/json; charset=utf-8') // before the body, since Koa guesses at what has none
  ctx.body = JSON.stringify(body)
}

/**
 * RFC 6265 section 4.1. Koa's own writer knows `Expires` alone, which goes by the clock of the browser's machine, and
 * refuses Secure where TLS ends at a proxy before us.
 */
function headerOf({ name, value, path, httpOnly, secure, sameSite, domain, maxAgeSeconds }: Cookie): string {
  return [
    `${name}=${value}`,
    `Path=${path}`,
    ...(domain === undefined ? [] : [`Domain=${domain}`]),
    ...(maxAgeSeconds === null ? [] : [`Max-Age=${maxAgeSeconds}`]),
    ...(httpOnly ? ['HttpOnly'] : []),
    ...(secure ? ['Secure'] : []),
    `SameSite=${sameSiteWords[sameSite]}`,
  ].join('; ')
}

const sameSiteWords: Readonly<Record<Cookie['sameSite'], string>> = { lax: 'Lax', strict: 'Strict', none: 'None' }
