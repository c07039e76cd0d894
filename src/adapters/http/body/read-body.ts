import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { koaBody } from 'koa-body'
import { type FieldFault, Invalid, Unreadable } from '../errors.ts'
import { parseJson, repeatedMembers } from './json.ts'

/** In bytes. */
const maxBodyBytes = 16 * 1024
const maxDepth = 32

/** What a body was before its fields are looked at. */
export type RawBody =
  | { readonly type: 'absent' }
  | { readonly type: 'not_an_object' }
  | { readonly type: 'fields'; readonly fields: Fields; readonly repeated: ReadonlySet<string> }

/** What was sent, by name. */
export type Fields = Readonly<Record<string, unknown>>

/**
 * koa-body only reads: its own parsers replace bytes that are not UTF-8, by which two passwords would become
 * equal, and know no `+json`. Multipart is parsed from memory, so that no upload ever reaches the disk.
 */
const read = koaBody({
  json: false,
  urlencoded: false,
  multipart: false,
  text: true,
  textTypes: ['*/*'],
  textLimit: maxBodyBytes,
  encoding: 'latin1',
})

const unparsable = () => new Unreadable(400, 'There was an error parsing the body')

/** Whether more than we would read of a body may follow the headers. */
export function mayGoOn({ headers }: IncomingMessage): boolean {
  return 'transfer-encoding' in headers || isTooLong(headers)
}

/** By what it says of itself. */
export function isTooLong(headers: IncomingHttpHeaders): boolean {
  return Number(headers['content-length']) > maxBodyBytes
}

export async function readBody(ctx: Context, encoding: 'json' | 'form'): Promise<RawBody> {
  const coding = ctx.get('Content-Encoding').toLowerCase()
  if (coding !== '' && coding !== 'identity') throw new Unreadable(415, 'UNSUPPORTED_MEDIA_TYPE')
  if (isTooLong(ctx.req.headers)) throw new Unreadable(413, 'PAYLOAD_TOO_LARGE')
  const charset = ctx.request.charset.toLowerCase()
  if (charset !== '' && charset !== 'utf-8' && charset !== 'utf8') throw new Unreadable(415, 'UNSUPPORTED_MEDIA_TYPE')

  const bytes = await readBytes(ctx)
  if (encoding === 'form') return await formFields(ctx, bytes)
  const text = utf8(bytes)
  if (text === '') return { type: 'absent' }
  return ctx.is('application/json', 'application/*+json') ? jsonFields(text) : { type: 'not_an_object' }
}

async function readBytes(ctx: Context): Promise<Buffer> {
  // What another parser made of the bytes cannot be judged as the bytes are: see above.
  if (ctx.req.readableDidRead) throw new Error('the body was read already: mount these routes above any body parser')
  // RFC 9110 section 8.3: a body without a type that can be read is octets. koa-body would not read it at all.
  if (ctx.is('*/*') === false) ctx.req.headers['content-type'] = 'application/octet-stream'
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

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw unparsable()
  }
}

function jsonFields(text: string): RawBody {
  const fault = (offset: number, error: string): Invalid => {
    const one: FieldFault = { type: 'json_invalid', loc: ['body', offset], msg: 'JSON decode error', ctx: { error } }
    return new Invalid([one])
  }
  const tooDeep = offsetBelow(text, maxDepth)
  if (tooDeep !== null) throw fault(tooDeep, `More than ${maxDepth} levels`)

  const parsed = parseJson(text)
  if ('offset' in parsed) throw fault(parsed.offset, 'Expecting a JSON value')
  const { value } = parsed
  if (value === null) return { type: 'absent' }
  if (typeof value !== 'object' || Array.isArray(value)) return { type: 'not_an_object' }
  return { type: 'fields', fields: value as Fields, repeated: repeatedFields(text) } // safe: an object that JSON.parse made
}

/** Which fields are there twice: whoever looked at the body before us may have seen another value. */
function repeatedFields(text: string): ReadonlySet<string> {
  return new Set(repeatedMembers(text).flatMap((path) => (path.length === 1 ? path : [])))
}

/** Where the text first nests deeper than `limit`; `null` when it never does. Linear, and before any parsing. */
function offsetBelow(text: string, limit: number): number | null {
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (quoted) {
      if (char === '\\') at++
      else if (char === '"') quoted = false
    } else if (char === '"') quoted = true
    else if (char === '{' || char === '[') {
      if (++depth > limit) return at
    } else if (char === '}' || char === ']') depth--
  }
  return null
}

async function formFields(ctx: Context, bytes: Buffer): Promise<RawBody> {
  const pairs = ctx.is('multipart/form-data')
    ? await multipartPairs(ctx, bytes)
    : ctx.is('application/x-www-form-urlencoded')
      ? urlencodedPairs(bytes)
      : []
  const fields: Record<string, string> = Object.create(null)
  const names = new Set<string>()
  const repeated = new Set<string>()
  for (const [name, value] of pairs) {
    if (names.has(name)) repeated.add(name)
    names.add(name)
    if (value !== '') fields[name] = value // an empty field is a missing one
  }
  return { type: 'fields', fields, repeated }
}

/** `URLSearchParams` would replace what is not UTF-8; this refuses it. */
function urlencodedPairs(bytes: Buffer): [string, string][] {
  const byte = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16))
  const decode = (part: string): string =>
    utf8(Buffer.from(part.replaceAll('+', ' ').replace(/%([0-9a-f]{2})/gi, byte), 'latin1'))
  return bytes
    .toString('latin1')
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const equals = pair.indexOf('=')
      return equals === -1 ? [decode(pair), ''] : [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))]
    })
}

/**
 * RFC 7578 section 4.7 wants no encodings of parts. The parser would decode base64 and drop a byte order mark. Lines
 * behind one that looks like a boundary are headers, until an empty one.
 */
function hasEncodedPart(text: string): boolean {
  let isHeader = false
  return text.split('\r\n').some((line) => {
    if (line.startsWith('--')) isHeader = true
    else if (line === '') isHeader = false
    return isHeader && encoding.test(line) && !noEncoding.test(line)
  })
}
const encoding = /^[ \t]*content-transfer-encoding/i
const noEncoding = /:[ \t]*(7bit|8bit|binary)[ \t]*$/i

async function multipartPairs(ctx: Context, bytes: Buffer): Promise<[string, string][]> {
  utf8(bytes)
  // One character a byte: of a text the parser would drop a byte order mark, by which two passwords would become equal.
  const text = bytes.toString('latin1')
  if (hasEncodedPart(text)) throw unparsable()
  const decode = (part: string): string => utf8(Buffer.from(part, 'latin1'))
  try {
    const form = await new Response(text, { headers: { 'Content-Type': ctx.get('Content-Type') } }).formData()
    let read = 0
    return [...form].flatMap(([name, value]) => {
      if (typeof value !== 'string') return []
      // Whatever the parser took for headers: a value that does not stand there as it is, part by part, was decoded.
      const at = text.indexOf(`\r\n\r\n${value}\r\n--`, read)
      if (at === -1) throw unparsable()
      read = at + 4 + value.length
      return [[decode(name), decode(value)]]
    })
  } catch {
    throw unparsable()
  }
}
