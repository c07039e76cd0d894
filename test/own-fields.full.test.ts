// Every operation of the OpenAPI document: no user writes a read-only field or reads a private one.
import { expect } from 'chai'
import { anAddress } from './support/http/answers.ts'
import { call, goodPassword, logIn, register, type Sent } from './support/http/client.ts'
import { firstSuperuser } from './support/scenes/first-superuser.ts'
import { quickest } from './support/scenes/quickest.ts'
import { startTestService, type TestService } from './support/services/service.ts'

const text = { type: 'string' }
const fields = {
  role: { ...text, default: 'member', readOnly: true, claim: true },
  note: { ...text, readOnly: true, private: true },
  answer: { ...text, private: true },
  city: text,
}
const secret = 'a text that only superusers read'
const chosen = { role: 'admin', note: 'mine', is_superuser: true, is_verified: true, id: 'x' }

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: { content: object } }>>>>
}

describe('no operation lets a user', () => {
  let service: TestService
  let admin: string
  before(async () => {
    const files = { 'portcullis.config.json': { users: { fields, selfDeletion: true } } }
    service = await startTestService(quickest, { files })
    admin = await firstSuperuser(service)
  })
  after(() => service.stop())

  const recordOf = async (id: string) => (await call(service.url, 'GET', `/users/${id}`, { bearer: admin })).body

  /** Calls every operation as a user, with the fields of a superuser in each body, and returns the answers. */
  async function everyAnswer(): Promise<
    readonly { readonly route: string; readonly text: string; readonly id: string }[]
  > {
    const { body } = await call(service.url, 'GET', '/openapi.json')
    const { paths } = body as Document // safe: the service describes itself
    const answers = []
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { requestBody }] of Object.entries(operations)) {
        const email = anAddress()
        const { id } = await register(service.url, email)
        const kept = { note: secret, answer: secret }
        const json = { ...kept, role: 'member' }
        expect((await call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json })).status).to.equal(200)
        const bearer = await logIn(service.url, email)
        const isForm = Object.keys(requestBody?.content ?? {}).some((type) => type.includes('form'))
        const given = { ...chosen, token: 'x', username: email, city: 'Bern' }
        const entered = { email: path.endsWith('register') ? anAddress() : email, password: goodPassword }
        const sent: Sent = isForm
          ? {
              form: {
                ...entered,
                username: email,
                ...Object.fromEntries(Object.entries(chosen).map(([k, v]) => [k, String(v)])),
              },
            }
          : requestBody === undefined
            ? {}
            : { json: { ...given, ...entered } }
        const own = path.replace('{user_id}', id).replace('{id}', 'x')
        const answer = await call(service.url, method.toUpperCase(), own, { bearer, ...sent })
        answers.push({ route: `${method} ${path} ${answer.status}`, text: answer.text, id })
        const record = await recordOf(id)
        const isGone = method === 'delete' && path === '/users/me'
        if (!isGone) expect(record, `${method} ${path}`).to.include({ ...kept, role: 'member', is_superuser: false })
      }
    }
    return answers
  }

  it('write a read-only field or rights, or read a private field', async () => {
    const answers = await everyAnswer()
    expect(answers.length).to.be.greaterThan(20)
    const routes = answers.map(({ route }) => route)
    for (const one of [
      'post /auth/register 201',
      'patch /users/me 200',
      'get /users/me 200',
      'patch /users/{user_id} 403',
    ]) {
      expect(routes).to.include(one)
    }
    for (const { route, text } of answers) expect(text, route).to.not.include(secret)
    for (const { route, text } of answers) expect(text, route).to.not.match(/"role":\s*"admin"|"is_superuser":\s*true/)
  })

  it('find a private field in an event or in a token', async () => {
    const email = anAddress()
    const { id } = await register(service.url, email)
    await call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json: { note: secret, city: 'Bern' } })
    const event = await service.event((one) => one.event === 'on_after_update' && one.user.id === id)
    expect(event).to.deep.include({ changes: { city: 'Bern' } })
    expect(JSON.stringify(service.events)).to.not.include(secret)
    expect(atob((await logIn(service.url, email)).split('.')[1] ?? ''))
      .to.include('"role":"member"')
      .and.not.include(secret)
  })
})
