import { parse } from 'content-disposition-3'
import { type RawBody, type RawFields, unparsable, utf8 } from './raw-body.ts'

type Pair = readonly [name: string, value: string]

/** The fields of a form; an empty field counts as a missing one. */
function fieldsOf(pairs: readonly Pair[]): RawFields {
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

export const noFields: RawFields = fieldsOf([])

export function urlencodedFields(bytes: Buffer): RawBody {
  const byte = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16))
  const decoded = bytes.toString('latin1').replace(/%([0-9a-f]{2})/gi, byte)
  utf8(Buffer.from(decoded, 'latin1')) // `URLSearchParams` would replace bytes that are not UTF-8
  return fieldsOf([...new URLSearchParams(utf8(bytes))])
}

const boundaryForm = /;[ \t]*boundary=(?:"([^"]{0,69}[^" ])"|([^\s;"]{1,70}))/gi
const dispositionForm = /^content-disposition:(.*)$/gim
const quotedString = /"(?:[^"\\]|\\.)*"/g
/** A parameter (RFC 9110 section 5.6.6) whose quoted string is replaced. Like many programs, it allows spaces around `=`. */
const parameterForm = /^[^\s="]+\s*=\s*(?:""|[^\s"]+)$/

/**
 * The text fields of a multipart form (RFC 7578) as they were sent, without files. Other parsers decode parts, write files, or
 * remove a byte order mark, which would make two different passwords equal.
 */
export function multipartFields(bytes: Buffer, contentType: string): RawBody {
  const [named, ...others] = contentType.matchAll(boundaryForm)
  const boundary = named?.[1] ?? named?.[2]
  if (boundary === undefined || others.length > 0) throw unparsable()
  const [preamble, ...parts] = `\r\n${utf8(bytes)}`.split(`\r\n--${boundary}`)
  const end = parts.findIndex((part) => part.startsWith('--'))
  if (preamble !== '' || end === -1) throw unparsable()
  return fieldsOf(parts.slice(0, end).flatMap(pairOf))
}

function pairOf(part: string): Pair[] {
  const [headers = '', ...value] = part.split('\r\n\r\n')
  if (!headers.startsWith('\r\n') || value.length === 0) throw unparsable()
  const [disposition, ...others] = headers.matchAll(dispositionForm)
  if (disposition === undefined || others.length > 0) throw unparsable()
  const { name, ...parameters } = parametersOf(disposition[1] ?? '')
  if ('filename' in parameters || 'filename*' in parameters) return []
  if (name === undefined) throw unparsable()
  return [[name, value.join('\r\n\r\n')]]
}

/** `parse` skips malformed parameters and takes the first of two. A proxy in front may read them in another way. */
function parametersOf(disposition: string): Readonly<Record<string, string>> {
  const { type, parameters } = parse(disposition, { extended: false })
  const [, ...given] = disposition.replace(quotedString, '""').split(';')
  const written = given.map((one) => one.trim()).filter((one) => one !== '')
  const areUnique = written.length === Object.keys(parameters).length
  if (type !== 'form-data' || !areUnique || !written.every((one) => parameterForm.test(one))) throw unparsable()
  return parameters
}
