import type { Answer } from './client.ts'

/** The parts of an answer that the contract of an operation fixes. */
export function seen({ status, body }: Answer) {
  return { status, body }
}

/** The names of the cookies that an answer sets. */
export function cookiesOf({ headers }: Answer): string[] {
  return headers.getSetCookie().map((line) => line.split('=')[0] ?? '')
}

/** An answer as it would be at the same moment and under the same request id. */
export function withoutChance({ status, headers, text }: Answer) {
  return { status, text, headers: [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id') }
}

/** An error as every error is worded. */
export function refused(status: number, detail: unknown) {
  return { status, body: { detail } }
}

export const empty = (status: number) => ({ status, body: '' })
export const unauthorized = refused(401, 'Unauthorized')
export const forbidden = refused(403, 'Forbidden')
export const notFound = refused(404, 'Not Found')

type Path = readonly (string | number)[]
export const fault = (type: string, msg: string, path: Path, ctx?: object) => ({
  type,
  loc: ['body', ...path],
  msg,
  ...(ctx && { ctx }),
})

/** The items of a 422. */
export const missing = (...path: Path) => fault('missing', 'Field required', path)
export const stringType = (...path: Path) => fault('string_type', 'Input should be a valid string', path)
export const listType = (...path: Path) => fault('list_type', 'Input should be a valid list', path)
export const boolType = (...path: Path) => fault('bool_type', 'Input should be a valid boolean', path)
export const boolParsing = (...path: Path) =>
  fault('bool_parsing', 'Input should be a valid boolean, unable to interpret input', path)
export const repeated = (...path: Path) => fault('value_error', 'Value error, field was sent more than once', path)
export const notAnObject = fault(
  'model_attributes_type',
  'Input should be a valid dictionary or object to extract fields from',
  [],
)
export const pattern = (text: string, ...path: Path) =>
  fault('string_pattern_mismatch', `String should match pattern '${text}'`, path, { pattern: text })
export const badAddress = (reason: string, ...path: Path) =>
  fault('value_error', `value is not a valid email address: ${reason}`, path, { reason })

export const invalid = (...faults: readonly unknown[]) => refused(422, faults)

let count = 0
/** An address that no other test has. */
export const anAddress = (label = 'user') => `${label}-${++count}@example.com`
