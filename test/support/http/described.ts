import { Ajv2020 } from 'ajv/dist/2020.js'

type Json = Readonly<Record<string, unknown>>

/** An answer, as far as the document describes it. */
interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
  readonly text: string
}

/** Lists the differences between an answer and the document. */
type Judge = (method: string, path: string, answer: Answer) => string[]

function judgeBy(document: Json): Judge {
  // RFC 5321 knows ASCII addresses alone and the service others too; the format is no assertion by itself
  // (JSON Schema validation, section 7.2.1).
  const ajv = new Ajv2020({
    strict: false,
    formats: {
      uuid: /^[0-9a-f-]{36}$/,
      email: /^[^@\s]+@[^@\s]+$/,
      uri: /^https?:/,
      date: /^\d{4}-\d\d-\d\d$/,
      'date-time': /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
    },
  })
  ajv.addSchema(document, 'document')
  // Concrete paths match before those with parameters (OpenAPI 3.1, section 4.8.8.2).
  const paths = Object.keys(at(document, 'paths'))
    .sort((one, other) => Number(one.includes('{')) - Number(other.includes('{')))
    .map((path) => ({ path, form: formOf(path) }))

  return (method, path, answer) => {
    const [bare = ''] = path.split('?')
    const candidates = paths.filter(({ form }) => form.test(bare))
    const known = candidates.find((one) => method.toLowerCase() in at(document, 'paths', one.path))
    if (known === undefined) return undescribed(bare, method, answer)
    const where = ['paths', known.path, method.toLowerCase(), 'responses', String(answer.status)]
    const name = `${method} ${known.path} ${answer.status}`
    const response = at(document, ...where.slice(0, -1))[String(answer.status)]
    if (response === undefined) return [`${name}: the status is not described`]

    const content = at(document, ...where).content
    if (content === undefined) return answer.text === '' ? [] : [`${name}: has a body`]
    const type = answer.headers.get('Content-Type')
    if (type !== 'application/json; charset=utf-8') return [`${name}: is ${type}`]
    const pointer = [...where, 'content', 'application/json', 'schema'].map(escaped).join('/')
    const validate = ajv.getSchema(`document#/${pointer}`)
    if (validate === undefined) return [`${name}: has no schema`]
    return validate(answer.body) ? [] : [`${name}: ${ajv.errorsText(validate.errors)} in ${answer.text}`]
  }
}

function undescribed(path: string, method: string, { status }: Answer): string[] {
  if (status === 404 || status === 405) return []
  if (method === 'OPTIONS' && status === 204) return [] // a CORS preflight
  if (method === 'HEAD') return [] // the headers of GET
  if (path === '/openapi.json' || /^\/docs(\/|$)/.test(path)) return []
  return [`${method} ${path} ${status}: is not described`]
}

function at(document: Json, ...keys: readonly string[]): Json {
  return keys.reduce((value, key) => value[key] as Json, document) // safe: asked for objects of OpenAPI alone
}

function formOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
}

function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
}

const judges = new Map<string, Promise<Judge | null>>()
/** Most services of a test run serve the same document, whose schemas take long to compile. */
const judgesByText = new Map<string, Judge>()

/** Must be called when a service starts at `url`: another service may have had the port before. */
export function forgetDocument(url: string): void {
  judges.delete(url)
}

/** The document of the service at `of` describes the answers at `url`. */
export function isDescribedAt(url: string, of: string): void {
  judges.set(url, judgeOf(of))
}

/** Throws when the answer differs from the `/openapi.json` of its service. */
export async function expectDescribed(url: string, method: string, path: string, answer: Answer): Promise<void> {
  const judge = judges.get(url) ?? judgeOf(url)
  judges.set(url, judge)
  const faults = (await judge)?.(method, path, answer) ?? []
  if (faults.length > 0) throw new Error(`not as /openapi.json says: ${faults.join('; ')}`)
}

/** `null` where no document is served, or nothing any more. */
async function judgeOf(url: string): Promise<Judge | null> {
  const response = await fetch(`${url}/openapi.json`).catch(() => null)
  if (response?.status !== 200) return null
  const text = await response.text()
  const judge = judgesByText.get(text) ?? judgeBy(JSON.parse(text))
  judgesByText.set(text, judge)
  return judge
}
