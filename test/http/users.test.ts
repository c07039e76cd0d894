import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import {
  anAddress,
  badAddress,
  boolParsing,
  boolType,
  empty,
  forbidden,
  invalid,
  missing,
  notAnObject,
  notFound,
  refused,
  seen,
  stringType,
  unauthorized,
} from '../support/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/client.ts'
import { firstSuperuser } from '../support/first-superuser.ts'
import { resetToken, verifyToken } from '../support/one-time-tokens.ts'
import { rawCall } from '../support/raw-request.ts'
import { startTestService, type TestService } from '../support/service.ts'

const newPassword = 'an even longer pass phrase'
const nobody = '01890000-0000-7000-8000-000000000000'
const taken = refused(400, 'UPDATE_USER_EMAIL_ALREADY_EXISTS')
const badPassword = (reason: string) => refused(400, { code: 'UPDATE_USER_INVALID_PASSWORD', reason })

describe('the Users router', () => {
  let service: TestService
  let admin: string
  let late = 0

  before(async () => {
    service = await startTestService({}, { clock: () => new Date(Date.now() + late) })
    admin = await firstSuperuser(service)
  })
  beforeEach(() => {
    late = 0
  })
  after(() => service.stop())

  const me = (sent: Sent = {}) => call(service.url, 'GET', '/users/me', sent)
  const patchMe = (bearer: string, json: unknown) => call(service.url, 'PATCH', '/users/me', { bearer, json })
  const get = (id: string, sent: Sent = { bearer: admin }) => call(service.url, 'GET', `/users/${id}`, sent)
  const patch = (id: string, json: unknown, sent: Sent = { bearer: admin }) =>
    call(service.url, 'PATCH', `/users/${id}`, { ...sent, json })
  const remove = (id: string, sent: Sent = { bearer: admin }) => call(service.url, 'DELETE', `/users/${id}`, sent)
  const login = (username: string, password: string) =>
    call(service.url, 'POST', '/auth/jwt/login', { form: { username, password } })

  const someone = () => register(service.url, anAddress())
  /** Somebody new, logged in twice. */
  async function aUser() {
    const user = await someone()
    return { user, bearer: await logIn(service.url, user.email), cookie: await logInByCookie(service.url, user.email) }
  }
  const ok = (body: object) => ({ status: 200, body })

  describe('GET /me', () => {
    it('returns the five fields in their order with either backend', async () => {
      const { user, bearer, cookie } = await aUser()
      const text = `{"id":"${user.id}","email":"${user.email}","is_active":true,"is_superuser":false,"is_verified":false}`
      expect((await me({ bearer })).text).to.equal(text)
      expect((await me({ cookie })).text).to.equal(text)
    })

    it('needs a credential', async () => {
      for (const sent of [{}, { bearer: 'x' }, { cookie: '__Host-session=x' }, { bearer: 'undefined' }]) {
        const answer = await me(sent)
        expect(seen(answer)).to.deep.equal(unauthorized)
        expect(answer.headers.get('WWW-Authenticate')).to.equal('Bearer')
      }
    })

    it('refuses a session after its end or its idle limit, and a token after its life', async () => {
      const { bearer, cookie } = await aUser()
      late = 3_590_000
      expect((await me({ bearer })).status).to.equal(200)
      late = 3_601_000
      expect(seen(await me({ bearer }))).to.deep.equal(unauthorized)
      late = 86_000_000
      expect((await me({ cookie })).status).to.equal(200)
      late = 3 * 86_400_000
      expect(seen(await me({ cookie }))).to.deep.equal(unauthorized)
    })
  })

  describe('PATCH /me', () => {
    it('keeps omitted and null fields, and accepts an empty object', async () => {
      const { user, bearer } = await aUser()
      const events = () =>
        service.events.filter(({ event, user: { id } }) => event === 'on_after_update' && id === user.id)
      for (const json of [{}, { email: null, password: null, is_active: null, current_password: null }, { other: 1 }]) {
        expect(seen(await patchMe(bearer, json))).to.deep.equal(ok(user))
      }
      expect((await login(user.email, goodPassword)).status).to.equal(200)
      const email = anAddress()
      await patchMe(bearer, { email })
      await service.event(({ event, user: { id } }) => event === 'on_after_update' && id === user.id)
      expect(events().map(({ changes }) => changes)).to.deep.equal([{ email, previous_email: user.email }])
    })

    it('checks the types of fields that only superusers may set, and ignores them', async () => {
      const { user, bearer } = await aUser()
      const answer = await patchMe(bearer, { is_active: 'no', is_superuser: true, is_verified: 1, id: nobody })
      expect(seen(answer)).to.deep.equal(ok(user))
      expect(seen(await patchMe(bearer, { is_active: 'maybe', is_superuser: {}, is_verified: 7 }))).to.deep.equal(
        invalid(boolParsing('is_active'), boolType('is_superuser'), boolParsing('is_verified')),
      )
      expect(seen(await me({ bearer }))).to.deep.equal(ok(user))
    })

    it('changes only the address, which must be verified again', async () => {
      const { user, bearer, cookie } = await aUser()
      await patch(user.id, { is_verified: true })
      const email = anAddress('New')
      expect(seen(await patchMe(bearer, { email: ` ${email}` }))).to.deep.equal(ok({ ...user, email }))
      expect(seen(await me({ cookie }))).to.deep.equal(ok({ ...user, email }))
      expect((await login(user.email, goodPassword)).status).to.equal(400)
      expect((await login(email, goodPassword)).status).to.equal(200)
      expect((await register(service.url, user.email)).email).to.equal(user.email)
    })

    it('keeps verification if only the spelling changes', async () => {
      const { user, bearer } = await aUser()
      await patch(user.id, { is_verified: true })
      const email = user.email.toUpperCase().replace('EXAMPLE.COM', 'example.com')
      expect(seen(await patchMe(bearer, { email }))).to.deep.equal(ok({ ...user, email, is_verified: true }))
      expect(seen(await patchMe(bearer, { email }))).to.deep.equal(ok({ ...user, email, is_verified: true }))
    })

    it('invalidates tokens that were mailed to the old address', async () => {
      const { user, bearer } = await aUser()
      const [reset, verify] = await Promise.all([resetToken(service, user.email), verifyToken(service, user.email)])
      await patchMe(bearer, { email: anAddress() })
      const sent = { json: { token: reset, password: newPassword } }
      expect(seen(await call(service.url, 'POST', '/auth/reset-password', sent))).to.deep.equal(
        refused(400, 'RESET_PASSWORD_BAD_TOKEN'),
      )
      expect(seen(await call(service.url, 'POST', '/auth/verify', { json: { token: verify } }))).to.deep.equal(
        refused(400, 'VERIFY_USER_BAD_TOKEN'),
      )
    })

    it('changes the password, keeps this session and ends the others', async () => {
      for (const kept of ['bearer', 'cookie'] as const) {
        const { user, ...credentials } = await aUser()
        const another = await aUser()
        const others = [
          { bearer: await logIn(service.url, user.email) },
          { cookie: await logInByCookie(service.url, user.email) },
          kept === 'bearer' ? { cookie: credentials.cookie } : { bearer: credentials.bearer },
        ]
        const reset = await resetToken(service, user.email)
        const sent = { [kept]: credentials[kept] }
        const answer = await call(service.url, 'PATCH', '/users/me', { ...sent, json: { password: newPassword } })
        expect(seen(answer)).to.deep.equal(ok(user))
        expect(seen(await me(sent))).to.deep.equal(ok(user))
        for (const other of others) expect(seen(await me(other))).to.deep.equal(unauthorized)
        expect((await me({ bearer: another.bearer })).status).to.equal(200)
        expect((await login(user.email, goodPassword)).status).to.equal(400)
        expect((await login(user.email, newPassword)).status).to.equal(200)
        const json = { token: reset, password: goodPassword }
        expect((await call(service.url, 'POST', '/auth/reset-password', { json })).status).to.equal(400)
        // The kept session ends as any other does.
        expect((await call(service.url, 'POST', '/auth/cookie/logout', sent)).status).to.equal(204)
        expect(seen(await me(sent))).to.deep.equal(unauthorized)
      }
    })

    it('refuses a taken address in any spelling, and changes nothing', async () => {
      const { user, bearer } = await aUser()
      const other = await someone()
      for (const email of [other.email, other.email.toUpperCase()]) {
        expect(seen(await patchMe(bearer, { email, password: newPassword }))).to.deep.equal(taken)
      }
      expect(seen(await me({ bearer }))).to.deep.equal(ok(user))
      expect((await login(user.email, goodPassword)).status).to.equal(200)
    })

    it('refuses a password by the rules of registration, before it checks the address', async () => {
      const { user, bearer } = await aUser()
      const other = await someone()
      const email = anAddress('brand.new')
      for (const [json, reason] of [
        [{ password: 'short', email: other.email }, 'Password should be at least 8 characters'],
        [{ password: 'password1' }, 'Password is one of the most common ones'],
        [{ password: user.email }, 'Password should not be the e-mail address or the part before its @-sign'],
        [{ password: email, email }, 'Password should not be the e-mail address or the part before its @-sign'],
        [{ password: 'x'.repeat(1025) }, 'Password should be at most 1024 bytes'],
      ] as const) {
        expect(seen(await patchMe(bearer, json)), reason).to.deep.equal(badPassword(reason))
      }
      expect(seen(await me({ bearer }))).to.deep.equal(ok(user))
    })

    it('checks a given current password', async () => {
      const { user, bearer } = await aUser()
      const wrong = refused(400, 'UPDATE_USER_BAD_CURRENT_PASSWORD')
      for (const current_password of ['wrong pass phrase', '', `${goodPassword} `, 'x'.repeat(1025)]) {
        for (const change of [{}, { password: newPassword }, { email: anAddress() }]) {
          expect(seen(await patchMe(bearer, { ...change, current_password }))).to.deep.equal(wrong)
        }
      }
      expect(seen(await me({ bearer }))).to.deep.equal(ok(user))
      const right = { password: newPassword, current_password: goodPassword }
      expect(seen(await patchMe(bearer, right))).to.deep.equal(ok(user))
      expect((await login(user.email, newPassword)).status).to.equal(200)
    })

    it('reports all faults in the order of the schema', async () => {
      const { bearer } = await aUser()
      const json = { is_verified: [], current_password: 1, password: {}, email: 'x' }
      expect(seen(await patchMe(bearer, json))).to.deep.equal(
        invalid(
          badAddress('An email address must have an @-sign.', 'email'),
          stringType('password'),
          boolType('is_verified'),
          stringType('current_password'),
        ),
      )
      expect(seen(await patchMe(bearer, null))).to.deep.equal(invalid(missing()))
      expect(seen(await patchMe(bearer, []))).to.deep.equal(invalid(notAnObject))
    })

    it('loses none of sixteen concurrent changes', async () => {
      const user = await someone()
      const flags = ['is_active', 'is_superuser', 'is_verified'] as const
      await Promise.all(
        Array.from({ length: 15 }, (_, n) => patch(user.id, { [flags[n % 3] ?? '']: true })).concat(
          patch(user.id, { email: `race-${user.email}` }),
        ),
      )
      // The new address resets verification, before or after it was set.
      expect((await get(user.id)).body).to.include({ email: `race-${user.email}`, is_superuser: true, is_active: true })
    })
  })

  describe('the routes by id', () => {
    it('are for superusers only', async () => {
      const { user, bearer, cookie } = await aUser()
      for (const id of [user.id, nobody, 'me-too']) {
        for (const [sent, expected] of [
          [{}, unauthorized],
          [{ bearer: 'x' }, unauthorized],
          [{ bearer }, forbidden],
          [{ cookie }, forbidden],
        ] as const) {
          expect(seen(await get(id, sent))).to.deep.equal(expected)
          expect(seen(await patch(id, { is_superuser: true }, sent))).to.deep.equal(expected)
          expect(seen(await remove(id, sent))).to.deep.equal(expected)
        }
      }
      expect(seen(await get(user.id))).to.deep.equal(ok(user))
    })

    it('answer 404 and never 422 to an unknown or malformed id', async () => {
      const user = await someone()
      const noDashes = user.id.replaceAll('-', '')
      for (const id of [
        nobody,
        'x',
        '0',
        '%20',
        '%00',
        '%ff',
        '%F0%9F%98%80',
        `%20${user.id}`,
        `${user.id}%20`,
        `${user.id}%0A`,
        `%7B${user.id}%7D`,
        noDashes,
        `urn:uuid:${user.id}`,
        `${user.id}0`,
        user.id.slice(1),
        "'%20OR%20''='",
        '__proto__',
        'constructor',
        '..%2fusers',
        'x'.repeat(2000),
      ]) {
        for (const method of ['GET', 'PATCH', 'DELETE']) {
          const answer = await rawCall(service.url, {
            method,
            path: `/users/${id}`,
            headers: [
              ['Authorization', `Bearer ${admin}`],
              ['Content-Type', 'application/json'],
            ],
            ...(method === 'PATCH' && { chunks: ['{"is_active":"no such flag"}'] }),
          })
          expect(seen(answer), `${method} ${id}`).to.deep.equal(notFound)
        }
      }
      expect(seen(await get(user.id))).to.deep.equal(ok(user))
    })

    it('accept an id in upper case', async () => {
      const user = await someone()
      const id = user.id.toUpperCase()
      expect(seen(await get(id))).to.deep.equal(ok(user))
      expect(seen(await patch(id, { is_verified: true }))).to.deep.equal(ok({ ...user, is_verified: true }))
      expect(seen(await remove(id))).to.deep.equal(empty(204))
    })

    it('change one field and keep the others', async () => {
      const { user, bearer } = await aUser()
      let expected: object = user
      for (const change of [
        { is_verified: true },
        { is_superuser: true },
        { is_superuser: false },
        { password: newPassword },
        { is_active: false },
        { is_active: true },
        {},
        { is_active: null, is_superuser: null, is_verified: null, email: null, password: null },
        { is_verified: 'off' },
      ]) {
        const { password: _, ...shown } = { password: '', ...change }
        const changed = Object.entries(shown).filter(([, value]) => typeof value === 'boolean')
        expected = {
          ...expected,
          ...Object.fromEntries(changed),
          ...('is_verified' in shown && shown.is_verified === 'off' && { is_verified: false }),
        }
        expect(seen(await patch(user.id, change)), JSON.stringify(change)).to.deep.equal(ok(expected))
        expect(seen(await get(user.id))).to.deep.equal(ok(expected))
      }
      expect(seen(await me({ bearer }))).to.deep.equal(unauthorized)
      expect((await login(user.email, newPassword)).status).to.equal(200)
    })

    it('reset verification with a new address, unless the request declares it verified', async () => {
      const user = await someone()
      await patch(user.id, { is_verified: true })
      const [email, another] = [anAddress(), anAddress()]
      expect(seen(await patch(user.id, { email }))).to.deep.equal(ok({ ...user, email, is_verified: false }))
      expect(seen(await patch(user.id, { email: another, is_verified: true }))).to.deep.equal(
        ok({ ...user, email: another, is_verified: true }),
      )
      const spelling = another.toUpperCase().replace('EXAMPLE.COM', 'example.com')
      expect(seen(await patch(user.id, { email: spelling }))).to.deep.equal(
        ok({ ...user, email: spelling, is_verified: true }),
      )
    })

    it('refuse the values that the own account refuses', async () => {
      const user = await someone()
      const other = await someone()
      expect(seen(await patch(user.id, { email: other.email.toUpperCase() }))).to.deep.equal(taken)
      expect(seen(await patch(user.id, { email: other.email, password: 'short' }))).to.deep.equal(
        badPassword('Password should be at least 8 characters'),
      )
      expect(
        seen(await patch(user.id, { email: 1, password: 1, is_active: 3, is_superuser: [], is_verified: 'x' })),
      ).to.deep.equal(
        invalid(
          stringType('email'),
          stringType('password'),
          boolParsing('is_active'),
          boolType('is_superuser'),
          boolParsing('is_verified'),
        ),
      )
      expect(seen(await get(user.id))).to.deep.equal(ok(user))
    })

    it('check a given current password against the superuser’s', async () => {
      const { user, bearer } = await aUser()
      await patch(user.id, { is_superuser: true, password: newPassword })
      const own = await logIn(service.url, user.email, newPassword)
      expect(seen(await me({ bearer }))).to.deep.equal(unauthorized)
      const other = await someone()
      const wrong = refused(400, 'UPDATE_USER_BAD_CURRENT_PASSWORD')
      for (const whom of [user.id, other.id]) {
        for (const current_password of [goodPassword, '']) {
          const change = { email: anAddress(), current_password }
          expect(seen(await patch(whom, change, { bearer: own }))).to.deep.equal(wrong)
        }
        const typed = await patch(whom, { current_password: 1 }, { bearer: own })
        expect(seen(typed)).to.deep.equal(invalid(stringType('current_password')))
        const right = { email: anAddress(), current_password: newPassword }
        expect((await patch(whom, right, { bearer: own })).status).to.equal(200)
      }
    })

    it('end all sessions of a user with a new password', async () => {
      const { user, bearer, cookie } = await aUser()
      await patch(user.id, { password: newPassword })
      expect(seen(await me({ bearer }))).to.deep.equal(unauthorized)
      expect(seen(await me({ cookie }))).to.deep.equal(unauthorized)
    })

    it('keep the session with which a superuser changes the own password', async () => {
      const { user, bearer, cookie } = await aUser()
      await patch(user.id, { is_superuser: true })
      expect((await patch(user.id, { password: newPassword }, { bearer })).status).to.equal(200)
      expect((await me({ bearer })).status).to.equal(200)
      expect(seen(await me({ cookie }))).to.deep.equal(unauthorized)
    })

    it('end sessions at once with deactivation, and activation restores none', async () => {
      const { user, bearer, cookie } = await aUser()
      await patch(user.id, { is_active: false })
      for (const sent of [{ bearer }, { cookie }]) {
        expect(seen(await me(sent))).to.deep.equal(unauthorized)
        expect(seen(await call(service.url, 'POST', '/auth/jwt/logout', sent))).to.deep.equal(unauthorized)
      }
      expect(seen(await login(user.email, goodPassword))).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
      await patch(user.id, { is_active: true })
      for (const sent of [{ bearer }, { cookie }]) expect(seen(await me(sent))).to.deep.equal(unauthorized)
      expect((await login(user.email, goodPassword)).status).to.equal(200)
    })

    it('refuse an inactive user, also after a change in the store alone', async () => {
      const { user, bearer, cookie } = await aUser()
      const db = new Database(join(service.dataFolder, 'portcullis.sqlite'))
      db.prepare('UPDATE users SET is_active = 0, version = version + 1 WHERE id = ?').run(user.id)
      db.close()
      for (const sent of [{ bearer }, { cookie }]) expect(seen(await me(sent))).to.deep.equal(unauthorized)
    })

    it('grant and withdraw rights with the next request of any token', async () => {
      const { user, bearer, cookie } = await aUser()
      expect(seen(await get(user.id, { bearer }))).to.deep.equal(forbidden)
      await patch(user.id, { is_superuser: true })
      for (const sent of [{ bearer }, { cookie }]) expect((await get(user.id, sent)).status).to.equal(200)
      await patch(user.id, { is_superuser: false })
      for (const sent of [{ bearer }, { cookie }]) {
        expect(seen(await get(user.id, sent))).to.deep.equal(forbidden)
        expect(seen(await remove(nobody, sent))).to.deep.equal(forbidden)
      }
    })
  })

  describe('DELETE /{user_id}', () => {
    it('removes the user with sessions and tokens', async () => {
      const { user, bearer, cookie } = await aUser()
      const other = await aUser()
      const [token] = await Promise.all([resetToken(service, user.email), verifyToken(service, user.email)])
      expect(rowsOf(service, user.id)).to.deep.equal({ users: 1, sessions: 1, tokens: 2, outbox: 0 })

      expect(seen(await remove(user.id))).to.deep.equal(empty(204))

      for (const sent of [{ bearer }, { cookie }]) expect(seen(await me(sent))).to.deep.equal(unauthorized)
      expect(seen(await get(user.id))).to.deep.equal(notFound)
      expect(seen(await patch(user.id, { is_active: true }))).to.deep.equal(notFound)
      expect(seen(await remove(user.id))).to.deep.equal(notFound)
      expect(seen(await login(user.email, goodPassword))).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
      const json = { token, password: newPassword }
      expect((await call(service.url, 'POST', '/auth/reset-password', { json })).status).to.equal(400)

      const { user: gone } = await service.event(
        ({ event, user: { id } }) => event === 'on_after_delete' && id === user.id,
      )
      expect(gone).to.deep.equal(user)
      await eventually(() =>
        expect(rowsOf(service, user.id)).to.deep.equal({ users: 0, sessions: 0, tokens: 0, outbox: 0 }),
      )
      expect((await me({ cookie: other.cookie })).status).to.equal(200)

      const again = await register(service.url, user.email)
      expect(again.id).to.not.equal(user.id)
      for (const sent of [{ bearer }, { cookie }]) expect(seen(await me(sent))).to.deep.equal(unauthorized)
    })

    it('succeeds for one of sixteen concurrent callers', async () => {
      const user = await someone()
      const answers = await Promise.all(Array.from({ length: 16 }, () => remove(user.id)))
      expect(answers.filter(({ status }) => status === 204)).to.have.length(1)
      for (const answer of answers) if (answer.status !== 204) expect(seen(answer)).to.deep.equal(notFound)
    })
  })

  it('stores neither passwords nor tokens in plain text', async () => {
    const { user, bearer, cookie } = await aUser()
    const token = await resetToken(service, user.email)
    const db = new Database(join(service.dataFolder, 'portcullis.sqlite'), { readonly: true })
    try {
      const tables = ['users', 'sessions', 'tokens', 'token_requests', 'outbox']
      const dump = tables.map((table) => JSON.stringify(db.prepare(`SELECT * FROM ${table}`).all())).join()
      expect(dump).to.contain(user.id)
      for (const secret of [goodPassword, bearer, cookie.split('=')[1] ?? '', token])
        expect(dump).to.not.contain(secret)
    } finally {
      db.close()
    }
  })
})

describe('the Users router, with security.freshLoginSeconds', () => {
  let service: TestService
  let late = 0
  before(async () => {
    const env = {
      PORTCULLIS_SECURITY__FRESH_LOGIN_SECONDS: '60',
    }
    service = await startTestService(env, { clock: () => new Date(Date.now() + late) })
  })
  after(() => service.stop())

  it('refuses a new address or password with an old login and without the current password', async () => {
    const user = await register(service.url, anAddress())
    const sessions = [
      { bearer: await logIn(service.url, user.email) },
      { cookie: await logInByCookie(service.url, user.email) },
    ]
    const patchMe = (sent: Sent, json: object) => call(service.url, 'PATCH', '/users/me', { ...sent, json })
    late = 61_000
    for (const sent of sessions) {
      for (const json of [{ password: newPassword }, { email: anAddress() }, { password: 'short' }]) {
        expect(seen(await patchMe(sent, json))).to.deep.equal(refused(403, 'FRESH_LOGIN_REQUIRED'))
      }
      expect(seen(await patchMe(sent, { email: 'x' }))).to.deep.include({ status: 422 })
      for (const json of [{}, { email: null }, { is_active: false }]) {
        expect(seen(await patchMe(sent, json))).to.deep.equal({ status: 200, body: user })
      }
      const wrong = { password: newPassword, current_password: newPassword }
      expect(seen(await patchMe(sent, wrong))).to.deep.equal(refused(400, 'UPDATE_USER_BAD_CURRENT_PASSWORD'))
    }
    const fresh = { bearer: await logIn(service.url, user.email) }
    expect((await patchMe(fresh, { email: user.email.toUpperCase() })).status).to.equal(200)
    const [old = {}] = sessions
    const right = { password: newPassword, current_password: goodPassword }
    expect((await patchMe(old, right)).status).to.equal(200)
  })

  it('demands a recent login for every write of a superuser, unless a PATCH has the current password', async () => {
    late = 0
    const bearer = await firstSuperuser(service)
    const { id } = (await call(service.url, 'GET', '/users/me', { bearer })).body as { id: string }
    const other = await register(service.url, anAddress())
    const patch = (whom: string, json: object) => call(service.url, 'PATCH', `/users/${whom}`, { bearer, json })
    const remove = (whom: string) => call(service.url, 'DELETE', `/users/${whom}`, { bearer })
    const tooOld = refused(403, 'FRESH_LOGIN_REQUIRED')
    late = 61_000
    for (const whom of [id, other.id]) {
      for (const json of [{ password: newPassword }, { email: anAddress() }, { is_superuser: true }, {}]) {
        expect(seen(await patch(whom, json)), JSON.stringify(json)).to.deep.equal(tooOld)
      }
      expect(seen(await remove(whom))).to.deep.equal(tooOld)
      const wrong = await patch(whom, { email: anAddress(), current_password: newPassword })
      expect(seen(wrong)).to.deep.equal(refused(400, 'UPDATE_USER_BAD_CURRENT_PASSWORD'))
      expect((await patch(whom, { email: anAddress(), current_password: goodPassword })).status).to.equal(200)
    }
    expect((await call(service.url, 'GET', `/users/${other.id}`, { bearer })).status, 'reading is free').to.equal(200)
    expect(seen(await remove(randomUUID())), 'an unknown user').to.deep.equal(notFound)
    late = 0
    expect((await patch(id, { email: anAddress() })).status).to.equal(200)
    expect((await remove(other.id)).status).to.equal(204)
  })
})

describe('the Users router, with a handler that may refuse', () => {
  let service: TestService
  let folder: string
  let admin: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portcullis-handlers-'))
    const module = join(folder, 'handlers.mjs')
    await writeFile(
      module,
      `export function on_before_delete({ email }) {
        if (email.startsWith('kept')) throw Object.assign(new Error('x'), { reason: 'This one stays' })
        if (email.startsWith('broken')) throw new Error('secret of the handler')
      }`,
    )
    service = await startTestService({ PORTCULLIS_HANDLERS__MODULE: module })
    admin = await firstSuperuser(service)
  })
  after(async () => {
    await service.stop()
    await rm(folder, { recursive: true })
  })

  it('keeps a user if the handler refuses or fails, and deletes others', async () => {
    for (const [label, expected] of [
      ['kept', refused(400, { code: 'DELETE_USER_REFUSED', reason: 'This one stays' })],
      ['broken', refused(503, 'SERVICE_UNAVAILABLE')],
      ['other', empty(204)],
    ] as const) {
      const { id } = await register(service.url, anAddress(label))
      expect(seen(await call(service.url, 'DELETE', `/users/${id}`, { bearer: admin }))).to.deep.equal(expected)
      const after = await call(service.url, 'GET', `/users/${id}`, { bearer: admin })
      expect(after.status).to.equal(label === 'other' ? 404 : 200)
    }
  })
})

function rowsOf({ dataFolder }: TestService, userId: string): Record<string, number> {
  const db = new Database(join(dataFolder, 'portcullis.sqlite'), { readonly: true })
  try {
    const count = (table: string, column: string): [string, number] => {
      const row = db.prepare(`SELECT count(*) AS count FROM ${table} WHERE ${column} = ?`).get(userId)
      return [table, (row as { count: number }).count] // safe: the statement names the column
    }
    return Object.fromEntries([
      count('users', 'id'),
      count('sessions', 'user_id'),
      count('tokens', 'user_id'),
      count('outbox', 'user_id'),
    ])
  } finally {
    db.close()
  }
}

/** Runs `check` until it passes, for at most a minute. */
async function eventually(check: () => void): Promise<void> {
  const end = Date.now() + 60_000
  for (;;) {
    try {
      check()
      return
    } catch (failure) {
      if (Date.now() > end) throw failure
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
}
