// Each operation, page, provider and use case: no user writes a read-only field, reads a private one, or gains rights.
import { expect } from 'chai'
import { toEmail } from '../src/adapters/addresses/parse-email.ts'
import { pagePaths } from '../src/adapters/http/routes.ts'
import { openPortcullis } from '../src/config/runtime/embedded.ts'
import type { UserId } from '../src/domain/ids.ts'
import { Refusal } from '../src/domain/refusal.ts'
import { anAddress } from './support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from './support/http/client.ts'
import { type Acme, aPerson, startAcme } from './support/providers/acme.ts'
import { Browser, tokenOf, toLink } from './support/providers/oauth-browser.ts'
import { firstSuperuser } from './support/scenes/first-superuser.ts'
import { granted } from './support/scenes/logins.ts'
import { resetToken, verifyToken } from './support/scenes/one-time-tokens.ts'
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
const rights = { is_superuser: true, is_verified: true, isSuperuser: true, isVerified: true }
const chosen = { role: 'admin', note: 'mine', ...rights, id: 'x' }
const asText = Object.fromEntries(Object.entries(chosen).map(([name, value]) => [name, String(value)]))
const bare = { role: 'member', note: null, is_superuser: false, is_verified: false }

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: { content: object } }>>>>
}

describe('no operation lets a user', () => {
  let service: TestService
  let acme: Acme
  let admin: string
  before(async () => {
    acme = await startAcme()
    // The settings refuse the names of read-only fields and of rights here.
    const providers = { acme: { fields: { answer: 'answer', city: 'city' } } }
    const files = { 'portcullis.config.json': { users: { fields, selfDeletion: true, selfExport: true }, providers } }
    const env = { ...quickest, ...acme.env({ ASSOCIATE_BY_EMAIL: 'true' }), PORTCULLIS_PAGES__ENABLED: 'true' }
    service = await startTestService(env, { files })
    admin = await firstSuperuser(service)
  })
  after(async () => {
    await service?.stop()
    await acme?.close()
  })

  const recordOf = async (id: string) => (await call(service.url, 'GET', `/users/${id}`, { bearer: admin })).body
  const byAdmin = async (id: string, json: object) => {
    expect((await call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json })).status).to.equal(200)
  }

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
        await byAdmin(id, json)
        const bearer = await logIn(service.url, email)
        const isForm = Object.keys(requestBody?.content ?? {}).some((type) => type.includes('form'))
        const token = await tokenFor(path, email)
        const given = { ...chosen, token, username: email, city: 'Bern' }
        const entered = { email: path.endsWith('register') ? anAddress() : email, password: goodPassword }
        const sent: Sent = isForm
          ? { form: { ...asText, ...entered, username: email } }
          : requestBody === undefined
            ? {}
            : { json: { ...given, ...entered } }
        const own = path.replace('{user_id}', id).replace('{id}', 'x')
        const answer = await call(service.url, method.toUpperCase(), own, { bearer, ...sent })
        answers.push({ route: `${method} ${path} ${answer.status}`, text: answer.text, id })
        const record = await recordOf(id)
        const isGone = method === 'delete' && path === '/users/me'
        const expected = { ...kept, role: 'member', is_superuser: false, is_verified: path === '/auth/verify' }
        if (!isGone) expect(record, `${method} ${path}`).to.include(expected)
      }
    }
    return answers
  }

  /** A token that works, for the operations that need one. */
  async function tokenFor(path: string, email: string): Promise<string> {
    if (path.endsWith('/reset-password')) return await resetToken(service, email)
    return path === '/auth/verify' ? await verifyToken(service, email) : 'x'
  }

  it('write a read-only field or rights, or read a private field', async () => {
    const answers = await everyAnswer()
    expect(answers.length).to.be.greaterThan(20)
    const routes = answers.map(({ route }) => route)
    for (const one of [
      'post /auth/register 201',
      'patch /users/me 200',
      'post /auth/reset-password 200',
      'post /auth/verify 200',
      'get /auth/acme/authorize 200',
      'get /auth/associate/acme/authorize 200',
      'get /users/me 200',
      'get /users/me/export 200',
      'patch /users/{user_id} 403',
    ]) {
      expect(routes).to.include(one)
    }
    for (const { route, text } of answers) expect(text, route).to.not.include(secret)
    for (const { route, text } of answers) expect(text, route).to.not.match(/"role":\s*"admin"|"is_superuser":\s*true/)
  })

  it('write or read them by a page', async () => {
    const email = anAddress()
    const { id } = await register(service.url, email)
    await byAdmin(id, { note: secret, answer: secret })
    const cookie = await logInByCookie(service.url, email)
    const account = pagePaths.account.filter((path) => path !== '/account/factors') // only with the router factors
    for (const path of [...account, ...pagePaths.docs]) {
      const headers = { Cookie: cookie, Origin: service.url }
      const page = await fetch(service.url + path, { headers })
      expect([page.status, (await page.text()).includes(secret)], path).to.deep.equal([200, false])
      const body = new URLSearchParams({ ...asText, email, city: 'Bern' })
      expect((await fetch(service.url + path, { method: 'POST', headers, body })).status, path).to.equal(405)
    }
    expect(await recordOf(id)).to.include({ ...bare, note: secret, answer: secret, city: null })
  })

  it('write or read them by a provider, which says what its users want', async () => {
    const { id: _, ...wanted } = chosen
    const person = aPerson({ ...wanted, answer: secret, city: 'Bern' })
    const signIn = async (profile = person) => {
      const answer = await new Browser(service.url).travel(acme, profile)
      expect(answer.text).to.not.include(secret)
      const me = await call(service.url, 'GET', '/users/me', { bearer: tokenOf(answer) })
      expect(me.text).to.not.include(secret)
      return me.body as { id: string } // safe: a token leads to a user
    }
    const { id } = await signIn()
    expect(await recordOf(id), 'a new user').to.include({ ...bare, answer: secret, city: 'Bern' })
    expect((await signIn({ ...person, city: 'Rome', answer: 'mine' })).id).to.equal(id)
    expect(await recordOf(id), 'a known user').to.include({ ...bare, answer: secret, city: 'Bern' })

    const own = await register(service.url, anAddress())
    const way = toLink(await logIn(service.url, own.email))
    const linked = await new Browser(service.url).travel(
      acme,
      aPerson({ ...wanted, answer: secret, city: 'Bern' }),
      way,
    )
    expect([linked.status, linked.text.includes(secret)]).to.deep.equal([200, false])
    expect(await recordOf(own.id), 'a linked user').to.include({ ...bare, answer: null, city: null })

    const same = await register(service.url, anAddress())
    await byAdmin(same.id, { is_verified: true, note: secret })
    expect((await signIn(aPerson({ ...wanted, email: same.email, city: 'Bern' }))).id).to.equal(same.id)
    const expected = { ...bare, is_verified: true, note: secret, city: null }
    expect(await recordOf(same.id), 'a user with the same address').to.include(expected)
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

describe('no use case of accounts', () => {
  /** They need no user: the program decides by itself. */
  const ofPrograms = ['createSuperuser', 'promoteUser']

  it('lets a user or the body of a stranger write a read-only field, or gain rights', async () => {
    const settings = { stores: { users: { kind: 'memory' } }, users: { fields }, logs: { level: 'error' } } as const
    const { accounts, close } = await openPortcullis(settings, { handlers: {}, env: quickest })
    const { authenticate, backends, logIn, readUser, registerUser } = accounts
    const backend = backends.get('jwt')
    if (backend === undefined) throw new Error('there is no backend jwt')
    const request = { password: goodPassword, requestId: 'test' }
    /** The members of each input, and rights where a body could have them. */
    const everything = { ...request, ...chosen, fields: chosen, changes: { ...rights, city: 'Bern', fields: chosen } }
    const outcomes = new Set<string>()
    const someone = () => registerUser.execute({ email: toEmail(anAddress()), ...request })
    const other = await someone()
    for (const [name, useCase] of Object.entries(accounts)) {
      if (!('execute' in useCase) || ofPrograms.includes(name)) continue
      const user = await someone()
      for (const target of [other, user]) {
        const { issued } = granted(await logIn.execute({ email: user.email, backend, ...request }))
        const by = await authenticate.execute([{ backend, value: issued.value }])
        const input = { ...everything, email: toEmail(anAddress()), by, target, userId: user.id, token: 'x', backend }
        const execute = useCase.execute as (input: unknown) => Promise<unknown> // safe: each use case refuses a wrong input
        const answer = await execute(input).catch((thrown: unknown) => thrown)
        outcomes.add(
          `${name} ${answer instanceof Refusal ? answer.code : answer instanceof Error ? answer.name : 'done'}`,
        )
        const made = (answer as { id?: UserId } | null)?.id // safe: not every answer has one
        for (const id of [user.id, target.id, made]) {
          const { isSuperuser = false, isVerified = false, fields: own } = (id && (await readUser.execute(id))) || {}
          expect([isSuperuser, isVerified], name).to.deep.equal([false, false])
          if (own !== undefined) expect([own.shown.role, own.hidden.note], name).to.deep.equal(['member', null])
        }
      }
    }
    await close()
    const expected = ['registerUser done', 'changeOwnAccount done', 'changeAccount FORBIDDEN', 'deleteUser FORBIDDEN']
    expect([...outcomes]).to.include.members(expected)
  })
})
