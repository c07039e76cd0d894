import type { Context } from 'koa'
import type { Cookie, Reply } from './reply.ts'

/** Writes a reply to the answer. */
export function send(ctx: Context, { status, body, headers, cookies }: Reply): void {
  ctx.status = status
  if (headers !== undefined) ctx.set(headers as Record<string, string>) // safe: `set` only reads it
  if (cookies !== undefined) for (const cookie of cookies) setCookie(ctx, cookie)
  if (body === undefined) {
    // 202 and 200 without a body: an empty one, not Koa's status text.
    if (status !== 204) ctx.length = 0
    ctx.body = status === 204 ? null : ''
    ctx.remove('Content-Type')
    return
  }
  ctx.body = JSON.stringify(body)
  ctx.type = 'application/json; charset=utf-8'
}

function setCookie(
  ctx: Context,
  { name, value, path, httpOnly, secure, sameSite, domain, maxAgeSeconds }: Cookie,
): void {
  ctx.cookies.secure = secure // browsers judge Secure by what they see, which a TLS proxy before us may have served
  ctx.cookies.set(name, value, {
    path,
    httpOnly,
    secure,
    sameSite,
    signed: false,
    overwrite: true,
    ...(domain !== undefined && { domain }),
    ...(maxAgeSeconds !== null && { maxAge: maxAgeSeconds * 1000 }),
  })
}
