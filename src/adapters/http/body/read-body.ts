import type { IncomingHttpHeaders } from 'node:http'
import type { Context } from 'koa'
import { Unreadable } from '../errors.ts'
import { multipartFields, noFields, urlencodedFields } from './form.ts'
import { jsonFields } from './json.ts'
import { type RawBody, unparsable, utf8 } from './raw-body.ts'

const maxBodyBytes = 16 * 1024

/** koa-body only reads the bytes. Its own parsers replace invalid UTF-8, and do not recognise `+json`. */
async function openReader() {
  const { koaBody } = await import('koa-body') // with zod it takes megabytes, and many processes read no body
  return koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['*/*'],
    textLimit: maxBodyBytes,
    encoding: 'latin1',
  })
}

let reader: ReturnType<typeof openReader> | undefined

/** Whether the body may be longer than the limit, judged by the headers. */
export function mayBeTooLong(headers: IncomingHttpHeaders): boolean {
  return 'transfer-encoding' in headers || isTooLong(headers)
}

function isTooLong(headers: IncomingHttpHeaders): boolean {
  return Number(headers['content-length']) > maxBodyBytes
}

export async function readBody(ctx: Context, encoding: 'json' | 'form'): Promise<RawBody> {
  const coding = ctx.get('Content-Encoding').toLowerCase()
  if (coding !== '' && coding !== 'identity') throw new Unreadable(415, 'UNSUPPORTED_MEDIA_TYPE')
  if (isTooLong(ctx.req.headers)) throw new Unreadable(413, 'PAYLOAD_TOO_LARGE')
  const charset = ctx.request.charset.toLowerCase()
  if (charset !== '' && charset !== 'utf-8' && charset !== 'utf8') throw new Unreadable(415, 'UNSUPPORTED_MEDIA_TYPE')

  const bytes = await readBytes(ctx)
  if (encoding === 'form') {
    if (ctx.is('multipart/form-data')) return multipartFields(bytes, ctx.get('Content-Type'))
    if (ctx.is('application/x-www-form-urlencoded')) return urlencodedFields(bytes)
    return bytes.length === 0 ? noFields : { ...noFields, wanted: 'a form (application/x-www-form-urlencoded)' }
  }
  const text = utf8(bytes)
  if (text === '') return { type: 'absent' }
  return ctx.is('application/json', 'application/*+json')
    ? jsonFields(text)
    : { type: 'not_an_object', wanted: 'application/json' }
}

async function readBytes(ctx: Context): Promise<Buffer> {
  if (ctx.req.readableDidRead) throw new Error('the body was already read: mount these routes before any body parser')
  // RFC 9110 section 8.3: a body without a valid type counts as octets. koa-body would not read it.
  if (ctx.is('*/*') === false) ctx.req.headers['content-type'] = 'application/octet-stream'
  reader ??= openReader()
  const read = await reader
  try {
    await read(ctx, async () => undefined)
  } catch (thrown) {
    if (statusOfReader(thrown) === 413) throw new Unreadable(413, 'PAYLOAD_TOO_LARGE')
    if (statusOfReader(thrown) === 400) throw unparsable()
    throw thrown
  }
  const text: unknown = ctx.request.body
  return typeof text === 'string' ? Buffer.from(text, 'latin1') : Buffer.alloc(0)
}

function statusOfReader(thrown: unknown): unknown {
  return thrown instanceof Error && 'status' in thrown ? thrown.status : undefined
}
