import { type RawBody, unparsable, utf8 } from './raw-body.ts'

type Pair = readonly [name: string, value: string]

/** The fields of a form; an empty field counts as a missing one. */
function fieldsOf(pairs: readonly Pair[]): RawBody {
  const fields: Record<string, string> = Object.create(null)
  const names = new Set<string>()
  const repeated = new Set<string>()
  for (const [name, value] of pairs) {
    if (names.has(name)) repeated.add(name)
    names.add(name)
    if (value !== '') fields[name] = value
  }
  return { type: 'fields', fields, repeated }
}

export const noFields: RawBody = fieldsOf([])

export function urlencodedFields(bytes: Buffer): RawBody {
  const byte = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16))
  const decoded = bytes.toString('latin1').replace(/%([0-9a-f]{2})/gi, byte)
  utf8(Buffer.from(decoded, 'latin1')) // `URLSearchParams` would replace bytes that are not UTF-8
  return fieldsOf([...new URLSearchParams(utf8(bytes))])
}

const boundaryForm = /;[ \t]*boundary=(?:"([^"]{0,69}[^" ])"|([^\s;"]{1,70}))/i
const nameForm = /^content-disposition:[ \t]*form-data[ \t]*;(?:.*;)?[ \t]*name="([^"]*)"/im
const fileForm = /^content-disposition:.*;[ \t]*filename\*?=/im

/**
 * The text fields of a multipart form (RFC 7578) as they were sent, without files. Other parsers decode parts, write files, or
 * remove a byte order mark, which would make two different passwords equal.
 */
export function multipartFields(bytes: Buffer, contentType: string): RawBody {
  const [, quoted, plain] = boundaryForm.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) throw unparsable()
  const [preamble, ...parts] = `\r\n${utf8(bytes)}`.split(`\r\n--${boundary}`)
  const end = parts.findIndex((part) => part.startsWith('--'))
  if (preamble !== '' || end === -1) throw unparsable()
  return fieldsOf(parts.slice(0, end).flatMap(pairOf))
}

function pairOf(part: string): Pair[] {
  const [headers = '', ...value] = part.split('\r\n\r\n')
  if (!headers.startsWith('\r\n') || value.length === 0) throw unparsable()
  if (fileForm.test(headers)) return []
  const [, name] = nameForm.exec(headers) ?? []
  if (name === undefined) throw unparsable()
  return [[name, value.join('\r\n\r\n')]]
}
