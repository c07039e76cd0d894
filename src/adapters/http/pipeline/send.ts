import type { Context } from 'koa'
import type { Cookie, Reply } from '../reply.ts'

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
    // Otherwise Koa would send its status text.
    if (status !== 204) ctx.length = 0
    ctx.body = status === 204 ? null : ''
    ctx.remove('Content-Type')
    return
  }
  ctx.set('Content-Type', 'application/json; charset=utf-8') // before the body, or Koa guesses a type
  ctx.body = JSON.stringify(body)
}

/**
 * RFC 6265 section 4.1. Koa's own function writes only `Expires`, which depends on the clock of the browser, and refuses Secure
 * behind a proxy that ends TLS.
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
