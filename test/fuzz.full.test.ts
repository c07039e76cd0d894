// Requests made up from the OpenAPI document of the service: each answer is one that the document describes, is no 500,
// and comes soon.
import { expect } from 'chai'
import fc from 'fast-check'
import { call, goodPassword, logIn, logInByCookie, type Sent } from './support/http/client.ts'
import { figure } from './support/http/figures.ts'
import { each } from './support/http/sender.ts'
import { isLong, rounds } from './support/mocha/long.ts'
import { enrol } from './support/scenes/enrol.ts'
import { quickest } from './support/scenes/quickest.ts'
import { startTestService, type TestService } from './support/services/service.ts'

interface Field {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly (string | null)[]
}

interface Operation {
  readonly method: string
  readonly path: string
  /** Media type and fields of its body. */
  readonly body: { readonly type: string; readonly fields: Readonly<Record<string, Field>> } | null
}

/** The credentials of callers, and the ids of the users whom they name. */
interface Cast {
  readonly credentials: readonly Sent[]
  readonly ids: readonly string[]
}

const formType = 'application/x-www-form-urlencoded'
const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000)
const longestMilliseconds = 15_000
const unknownId = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
/** For each operation: made-up requests change passwords and delete users. */
const usersOfOperation = rounds(8, 30)
const loginsOfOperation = rounds(4, 8)
/** Some requests hash a password; this test does not prove how fast. */
const env = { ...quickest, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60' }

/** Values that have broken parsers, databases and logs before. */
const nasty = fc.constantFrom(
  '',
  '\u0000',
  '\ud800',
  '\u202e',
  'A'.repeat(7_000),
  '__proto__',
  'null',
  '{"$ne":null}',
  "' OR 1=1 --",
  '%c0%ae',
  '../../etc/passwd',
  'a@xn--.example',
  '\r\nX-Injected: 1',
  '1e999',
)
const anything: fc.Arbitrary<unknown> = fc.oneof(
  nasty,
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 60 }),
)
const address = fc.oneof(
  fc.constantFrom('user-0-0@example.com', 'superuser-1@example.com', 'Nobody@example.com', 'ü@exämple.com'),
  fc.emailAddress(),
)

/** A value that its field is likely to take. */
function likely({ type, format, enum: options }: Field): fc.Arbitrary<unknown> {
  if (format === 'email') return address
  if (format === 'date') return fc.constantFrom('2024-02-29', '2023-02-29', '0000-01-01', '9999-12-31', null)
  if (options !== undefined) return fc.constantFrom(...options)
  if (/number|integer/.test(`${type}`))
    return fc.oneof(fc.integer(), fc.double(), fc.constantFrom(-0, 1, 2 ** 53, null))
  if (`${type}`.includes('boolean')) return fc.constantFrom(true, false, 'yes', 'off', 1, 0, null)
  if (`${type}`.includes('array')) return fc.oneof(fc.constant([]), fc.array(anything, { maxLength: 3 }))
  return fc.oneof(fc.constantFrom(goodPassword, 'short', 'password'), fc.string({ unit: 'grapheme', maxLength: 40 }))
}

/** Most of its fields, mostly of their types, and sometimes others. */
function nearlyValid(fields: Readonly<Record<string, Field>>): fc.Arbitrary<Record<string, unknown>> {
  const known = Object.entries(fields).map(([name, field]) => {
    const value = fc.oneof({ weight: 6, arbitrary: likely(field) }, { weight: 1, arbitrary: anything })
    return [name, value] as const
  })
  const own = fc.record(Object.fromEntries(known), { requiredKeys: [] })
  const extra = fc.dictionary(fc.oneof(nasty, fc.string()), anything, { maxKeys: 2 })
  return fc.tuple(own, extra).map(([one, other]) => ({ ...one, ...other }))
}

const asText = (value: unknown): string =>
  typeof value === 'string' ? value.toWellFormed() : (JSON.stringify(value) ?? '')

function asForm(fields: Readonly<Record<string, unknown>>): string {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) form.append(name.toWellFormed(), asText(value))
  return form.toString()
}

type Body = NonNullable<Operation['body']>

const typed = (body: string | Uint8Array<ArrayBuffer>, contentType: string): Sent => ({
  body,
  headers: { 'Content-Type': contentType },
})
const written = (type: string, fields: Readonly<Record<string, unknown>>): Sent =>
  typed(type === formType ? asForm(fields) : JSON.stringify(fields), type)

/** Every kind of field that a deployer can declare. */
const tenFields = {
  first_name: { type: 'string', maxLength: 20, atRegistration: 'required' },
  username: { type: 'string', pattern: '^[A-Za-z0-9_]+$', unique: true },
  code_name: { type: 'string', minLength: 2, unique: true, caseSensitive: true },
  birthday: { type: 'string', format: 'date', unique: true },
  newsletter: { type: 'boolean', default: false },
  age: { type: 'integer', minimum: 0, maximum: 150 },
  height: { type: 'number', unique: true },
  tags: { type: 'array', maxItems: 2, items: { maxLength: 5, pattern: '^[a-z]*$' } },
  role: { type: 'string', enum: ['member', 'admin'], default: 'member', readOnly: true, claim: true },
  note: { type: 'string', maxLength: 4096, private: true },
}
const plainFields: Readonly<Record<string, unknown>> = { first_name: 'Ada', username: 'ada', birthday: '1815-12-10' }

/** As a front end sends it. */
function plain({ type, fields }: Body): Sent {
  const all = Object.entries(fields).flatMap(([name, { format }]): [string, unknown][] => {
    if (format === 'email') return [[name, `made-up-${seed}@example.com`]]
    if (name === 'password') return [[name, goodPassword]]
    return Object.hasOwn(plainFields, name) ? [[name, plainFields[name]]] : []
  })
  return written(type, Object.fromEntries(all))
}

/** Bodies of the right kind, of the wrong kind, and of none. */
function bodies({ type, fields }: Body): fc.Arbitrary<Sent> {
  const text = fc.oneof(anything.map(asText), fc.json())
  const bytes = fc.uint8Array({ maxLength: 200 }).map((all) => Uint8Array.from(all))
  const types = ['application/json', 'application/json; charset=latin1', 'text/plain', formType, 'multipart/form-data']
  const wrong = fc.tuple(fc.oneof(text, bytes), fc.constantFrom(...types, 'multipart/form-data; boundary=x'))
  return fc.oneof(
    { weight: 5, arbitrary: nearlyValid(fields).map((object) => written(type, object)) },
    { weight: 2, arbitrary: wrong.map(([body, contentType]) => typed(body, contentType)) },
    { weight: 1, arbitrary: fc.constant({}) },
  )
}

/** Requests for an operation, with and without credentials. */
function requests({ path, body }: Operation, cast: Cast): fc.Arbitrary<{ path: string; sent: Sent }> {
  const oddId = fc.oneof(nasty, fc.string({ unit: 'binary' }))
  const id = fc.oneof(
    fc.constantFrom(...cast.ids),
    fc.uuid(),
    oddId.map((text) => encodeURIComponent(text.toWellFormed().slice(0, 500)) || 'x'),
  )
  const header = fc.string({ unit: 'grapheme-ascii', maxLength: 60 })
  const credential = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...cast.credentials) },
    { weight: 1, arbitrary: fc.constant<Sent>({}) },
    { weight: 1, arbitrary: header.map((bearer): Sent => ({ bearer })) },
    { weight: 1, arbitrary: header.map((value): Sent => ({ cookie: `__Host-session=${value}` })) },
  )
  const headers = fc.record(
    {
      'X-Request-Id': header,
      'Content-Encoding': fc.constantFrom('gzip', 'identity', 'x'),
      'Sec-Fetch-Site': fc.constantFrom('same-origin', 'cross-site', 'none'),
      Accept: header,
    },
    { requiredKeys: [] },
  )
  return fc
    .tuple(id, credential, body === null ? fc.constant({}) : bodies(body), fc.oneof(fc.constant({}), headers))
    .map(([user, who, what, beside]: [string, Sent, Sent, Record<string, string>]) => ({
      path: path.replace('{user_id}', user),
      sent: { ...who, ...what, headers: { ...beside, ...what.headers } },
    }))
}

/** Requests for the answers that made-up ones may miss: the success of an operation, and the refusal of its repetition. */
function plainRequests({ path, body }: Operation, { credentials, ids }: Cast): { path: string; sent: Sent }[] {
  if (body !== null) return [plain(body), plain(body)].map((sent) => ({ path, sent }))
  const [superuser = {}] = credentials
  return [ids[0] ?? '', unknownId].map((id) => ({ path: path.replace('{user_id}', id), sent: superuser }))
}

/** Operations that take or return a user. */
const ofUsers = new Set(['/auth/register', '/users/me', '/users/{user_id}'])

for (const [title, files, isFuzzed] of [
  ['', {}, () => true],
  // Only test:long repeats the operations without fields.
  [
    ' with ten fields of the deployer’s own',
    { 'portcullis.config.json': { users: { fields: tenFields } } },
    ({ path }: Operation) => isLong || ofUsers.has(path),
  ],
] as const)
  describe(`requests made up from /openapi.json${title}`, function () {
    this.timeout(rounds(600_000, 3_600_000))
    const count = title === '' ? rounds(30, 3_000) : rounds(30, 1_000)
    let service: TestService
    let operations: readonly Operation[]

    before(async () => {
      service = await startTestService(env, { files })
      operations = operationsOf((await call(service.url, 'GET', '/openapi.json')).body).filter(isFuzzed)
    })

    after(() => service?.stop())

    /** The people of each operation. */
    async function casts(): Promise<Cast[]> {
      const emails = operations.flatMap((_, at) =>
        Array.from({ length: usersOfOperation }, (_, one) => `user-${at}-${one}@example.com`),
      )
      const users = await enrol(env, service.dataFolder, emails)
      const superusers = operations.map((_, at) => `superuser-${at}@example.com`)
      await enrol(env, service.dataFolder, superusers, { isSuperuser: true })
      return await each(operations.length, 2, async (at) => {
        const own = users.slice(at * usersOfOperation, (at + 1) * usersOfOperation)
        const logins = own
          .slice(0, loginsOfOperation)
          .map(async ({ email }, one) =>
            one % 2 === 0
              ? { bearer: await logIn(service.url, email) }
              : { cookie: await logInByCookie(service.url, email) },
          )
        const bearer = await logIn(service.url, superusers[at] ?? '')
        return { credentials: [{ bearer }, { bearer }, ...(await Promise.all(logins))], ids: own.map(({ id }) => id) }
      })
    }

    it('all get an answer that the document describes, in time, and never a 500', async () => {
      expect(operations.length).to.be.at.least(title === '' ? 16 : 5)
      const statuses = new Map<number, number>()
      const known = [
        'id',
        'email',
        'is_active',
        'is_superuser',
        'is_verified',
        ...(title === '' ? [] : Object.keys(tenFields)),
      ]
      let slowest = 0
      const people = await casts()
      for (const [at, operation] of operations.entries()) {
        const cast = people[at] ?? { credentials: [], ids: [] }
        const made = fc.sample(requests(operation, cast), { numRuns: count, seed })
        made.push(...plainRequests(operation, cast))
        await each(made.length, 8, async (index) => {
          const { path, sent } = made[index] ?? { path: '', sent: {} }
          const began = performance.now()
          const { status, text, body } = await call(service.url, operation.method, path, sent)
          const took = performance.now() - began
          slowest = Math.max(slowest, took)
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          const what = `${operation.method} ${path} ${JSON.stringify(sent)} (TEST_SEED=${seed}): ${text}`
          expect(status, what).to.be.below(500)
          if (typeof body === 'object' && body !== null && 'is_superuser' in body) {
            expect(known, what).to.include.members(Object.keys(body))
          }
          expect(took, what).to.be.below(longestMilliseconds)
        })
      }
      figure(`made-up requests${title} by status`, { ...Object.fromEntries(statuses), 'slowest ms': slowest })
      const reached = [200, 201, ...(title === '' ? [202] : []), 204, 400, 401, 403, 404, 415, 422]
      expect([...statuses.keys()]).to.include.members(reached)
      expect(service.logLines.filter((line) => line.includes('"level":50'))).to.deep.equal([])
    })
  })

/** The OpenAPI document, as far as this suite looks. */
interface Document {
  readonly paths: Record<
    string,
    Record<string, { requestBody?: { content: Record<string, { schema: { $ref: string } }> } }>
  >
  readonly components: { schemas: Record<string, { properties: Record<string, Field> }> }
}

function operationsOf(document: unknown): Operation[] {
  const { paths, components } = document as Document // safe: the service derives it from its operations
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody }]) => {
      const [content] = Object.entries(requestBody?.content ?? {})
      const name = content?.[1].schema.$ref.split('/').at(-1) ?? ''
      const body =
        content === undefined ? null : { type: content[0], fields: components.schemas[name]?.properties ?? {} }
      return { method: method.toUpperCase(), path, body }
    }),
  )
}
