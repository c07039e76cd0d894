// A front end with the types that openapi-typescript makes from the document, with fields of the deployer's own.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { FrontEnd } from '../support/project/front-end.ts'
import { projectFile } from '../support/project/readme-blocks.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const text = { type: 'string' }
const fields = {
  first_name: { ...text, maxLength: 50, atRegistration: 'required' },
  username: { ...text, pattern: '^[A-Za-z0-9_]{3,20}$', unique: true },
  birthday: { ...text, format: 'date' },
  age: { type: 'integer', minimum: 0 },
  tags: { type: 'array', maxItems: 3 },
  plan: { ...text, enum: ['free', 'pro'], default: 'free', readOnly: true },
  note: { ...text, readOnly: true, private: true },
}

const client = (url: string) => `import createClient from 'openapi-fetch'
import type { paths } from './portcullis'
const accounts = createClient<paths>({ baseUrl: '${url}' })
const ada = { email: 'ada@example.com', password: 'copper-violin-drift' }
`

const use = `
const fields = { first_name: 'Ada', username: 'Ada_L', birthday: '1815-12-10', age: 36, tags: ['engines'] }
const { data, error } = await accounts.POST('/auth/register', { body: { ...ada, ...fields } })
if (data === undefined) throw new Error(JSON.stringify(error))
const plan: 'free' | 'pro' = data.plan
const ages: (number | null)[] = [data.age]
console.log(data.first_name, plan, ages, data.tags?.join())

const other = await accounts.POST('/auth/register', { body: { ...ada, ...fields, email: 'grace@example.com' } })
const detail = other.error?.detail
if (typeof detail === 'object' && 'code' in detail && detail.code === 'REGISTER_FIELD_ALREADY_EXISTS') console.log(detail.reason)

const login = await accounts.POST('/auth/jwt/login', {
  body: { username: ada.email, password: ada.password },
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  bodySerializer: (fields: object) => new URLSearchParams(Object.entries(fields)),
})
const headers = { Authorization: \`Bearer \${login.data?.access_token}\` }
const changed = await accounts.PATCH('/users/me', { headers, body: { username: 'ada', birthday: null } })
console.log(changed.data?.username, changed.data?.birthday)
`

/** The types refuse each line: a missing field, another type, and an unknown value. */
const misuses = `
await accounts.POST('/auth/register', { body: ada })
await accounts.PATCH('/users/me', { body: { age: '36' } })
console.log((await accounts.GET('/users/me')).data?.plan === 'gold')
`

describe('a front end whose types are generated from the document', () => {
  let service: TestService
  const frontEnd = new FrontEnd()
  before(async () => {
    service = await startTestService(
      { PORTCULLIS_STORES__USERS__KIND: 'memory' },
      { files: { 'portcullis.config.json': { users: { fields } } } },
    )
    frontEnd.write('package.json', '{ "type": "module" }')
    frontEnd.write('tsconfig.json', projectFile('examples/front-end/tsconfig.json'))
    frontEnd.write('src/use.ts', client(service.url) + use)
    frontEnd.write('src/wrong.ts', client(service.url) + misuses)
    await frontEnd.makeTypes(`openapi-typescript@7 ${service.url}/openapi.json --output src/portcullis.d.ts`)
  })
  after(() => service?.stop())

  it('compiles with own fields, but not with a wrong one', async () => {
    const printed = await frontEnd.compile()
    const faults = [...printed.matchAll(/^(.*)\((\d+),\d+\): error (TS\d+)/gm)]
    expect(
      faults.map(([, file, line, code]) => `${file}:${line} ${code}`),
      printed,
    ).to.deep.equal(['src/wrong.ts:6 TS2322', 'src/wrong.ts:7 TS2322', 'src/wrong.ts:8 TS2367'])
  })

  it('runs: it registers, reads and changes fields, and learns which value is taken', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['src/use.ts'], { cwd: frontEnd.folder })
    expect(stdout).to.equal('Ada free [ 36 ] engines\nusername\nada null\n')
  })
})
