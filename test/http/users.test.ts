import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import {
  anAddress,
  badAddress,
  boolParsing,
  boolType,
  empty,
  forbidden,
  invalid,
  notFound,
  refused,
  seen,
  stringType,
  unauthorized,
} from '../support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { rawCall } from '../support/http/raw-request.ts'
import { itWithUuids } from '../support/mocha/long.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { resetToken, verifyToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import type { PrintedEvent } from '../support/services/spawned-service.ts'
import { inSqlite } from '../support/stores/store-contents.ts'

const newPassword = 'an even longer pass phrase'
const nobody = '01890000-0000-7000-8000-000000000000'
const taken = refused(400, 'UPDATE_USER_EMAIL_ALREADY_EXISTS')
const badPassword = (rule: string, reason: string) =>
  refused(400, { code: 'UPDATE_USER_INVALID_PASSWORD', reason, rule })

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
      const text = `{"id":${JSON.stringify(user.id)},"email":"${user.email}","is_active":true,"is_superuser":false,"is_verified":false}`
      expect((await me({ bearer })).text).to.equal(text)
      expect((await me({ cookie })).text).to.equal(text)
    })

    it('refuses a session after its idle limit, and a token after its expiry', async () => {
      const { bearer, cookie } = await aUser()
      late = 3_500_000
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
    it('leaves omitted and null fields unchanged, ignores fields for superusers, and accepts an empty object', async () => {
      const { user, bearer } = await aUser()
      for (const json of [
        {},
        { email: null, password: null, is_active: null, current_password: null },
        { is_active: 'no', is_superuser: true, is_verified: 1, id: nobody, other: 1 },
      ]) {
        expect(seen(await patchMe(bearer, json))).to.deep.equal(ok(user))
      }
      expect((await login(user.email, goodPassword)).status).to.equal(200)
      const email = anAddress()
      await patchMe(bearer, { email })
      const isUpdate = ({ event, user: { id } }: PrintedEvent) => event === 'on_after_update' && id === user.id
      await service.event(isUpdate)
      const changes = service.events.filter(isUpdate).map(({ changes }) => changes)
      expect(changes).to.deep.equal([{ email, previous_email: user.email }])
    })

    it('tells the handler of a change that changes nothing, if the settings say so', async () => {
      const telling = await startTestService({ PORTCULLIS_USERS__REPORTS_UNCHANGED: 'true' })
      try {
        const { email } = await register(telling.url, anAddress())
        const bearer = await logIn(telling.url, email)
        const isUpdate = ({ event, user }: PrintedEvent) => event === 'on_after_update' && user.email === email
        for (const [at, json] of [{}, { email }].entries()) {
          expect((await call(telling.url, 'PATCH', '/users/me', { json, bearer })).status).to.equal(200)
          await eventually('the event', () => telling.events.filter(isUpdate).length === at + 1)
        }
        expect(telling.events.filter(isUpdate).map(({ changes }) => changes)).to.deep.equal([{}, {}])
      } finally {
        await telling.stop()
      }
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
        const sent = { [kept]: credentials[kept] }
        const answer = await call(service.url, 'PATCH', '/users/me', { ...sent, json: { password: newPassword } })
        expect(seen(answer)).to.deep.equal(ok(user))
        expect(seen(await me(sent))).to.deep.equal(ok(user))
        for (const other of others) expect(seen(await me(other))).to.deep.equal(unauthorized)
        expect((await me({ bearer: another.bearer })).status).to.equal(200)
        expect((await login(user.email, goodPassword)).status).to.equal(400)
        expect((await login(user.email, newPassword)).status).to.equal(200)
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
      const isAddress = 'Password should not be the e-mail address or the part before its @-sign'
      for (const [json, rule, reason] of [
        [{ password: 'short', email: other.email }, 'too_short', 'Password should be at least 8 characters'],
        [{ password: user.email }, 'contains_email', isAddress],
        [{ password: email, email }, 'contains_email', isAddress],
      ] as const) {
        expect(seen(await patchMe(bearer, json)), reason).to.deep.equal(badPassword(rule, reason))
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
      const json = { is_verified: 7, is_superuser: {}, current_password: 1, password: {}, email: 'x' }
      expect(seen(await patchMe(bearer, json))).to.deep.equal(
        invalid(
          badAddress('An email address must have an @-sign.', 'email'),
          stringType('password'),
          boolType('is_superuser'),
          boolParsing('is_verified'),
          stringType('current_password'),
        ),
      )
    })
  })

  describe('DELETE /me/sessions', () => {
    const logOutEverywhere = (sent: Sent) => call(service.url, 'DELETE', '/users/me/sessions', sent)

    it('ends every login of the user, removes the stored ones and tells the handler', async () => {
      const { user, bearer, cookie } = await aUser()
      const another = await aUser()
      const sent = [{ bearer }, { cookie }, { bearer: await logIn(service.url, user.email) }]
      late = 3_000_000 // the login is no longer fresh
      const answer = await logOutEverywhere({ bearer })
      expect([seen(answer), answer.headers.getSetCookie()]).to.deep.equal([empty(204), []])
      for (const one of sent) {
        expect(seen(await me(one))).to.deep.equal(unauthorized)
        expect(seen(await logOutEverywhere(one))).to.deep.equal(unauthorized)
      }
      const { changes } = await service.event(
        ({ event, user: { id } }) => event === 'on_after_update' && id === user.id,
      )
      expect(changes).to.deep.equal({ logged_out_everywhere: true })
      const stored = () =>
        inSqlite(service.dataFolder, (db) => db.prepare('SELECT 1 FROM sessions WHERE user_id = ?').all(user.id))
      await eventually('the removal of the sessions', () => stored().length === 0)
      expect((await me({ cookie: another.cookie })).status).to.equal(200)
      expect((await me({ bearer: await logIn(service.url, user.email) })).status).to.equal(200)
    })

    it('removes the cookie that made the request', async () => {
      const { cookie } = await aUser()
      const answer = await logOutEverywhere({ cookie })
      expect(seen(answer)).to.deep.equal(empty(204))
      const [cleared, ...others] = answer.headers.getSetCookie()
      expect(others).to.deep.equal([])
      expect(cleared).to.match(/^__Host-session=; .*Max-Age=0/)
      expect(seen(await me({ cookie }))).to.deep.equal(unauthorized)
    })
  })

  describe('the routes by id', () => {
    it('refuse everybody but superusers', async () => {
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

    itWithUuids('answer 404 and never 422 to an unknown or malformed id', async () => {
      const user = await someone()
      const around = [`%20${user.id}`, `${user.id}%0A`, `${user.id.slice(1)}`, `${user.id}0`, '1', 'f'.repeat(24)]
      const others = ['x', '%00', '%ff', "'%20OR%20''='", '__proto__', '..%2fusers', 'x'.repeat(2000)]
      for (const id of [nobody, ...around, ...others]) {
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

    itWithUuids('accept an id in every form in which fastapi-users reads it', async () => {
      const user = await someone()
      const digits = user.id.replaceAll('-', '')
      for (const id of [user.id.toUpperCase(), digits, `%7B${user.id}%7D`, `urn:uuid:${user.id}`]) {
        expect(seen(await get(id)), id).to.deep.equal(ok(user))
      }
      expect(seen(await remove(user.id.toUpperCase()))).to.deep.equal(empty(204))
    })

    it('change one field and keep the others', async () => {
      const { user } = await aUser()
      let expected: object = user
      for (const change of [
        { is_verified: true },
        { is_superuser: true },
        { is_superuser: false },
        { is_active: false },
        { is_active: true },
        {},
      ]) {
        expected = { ...expected, ...change }
        expect(seen(await patch(user.id, change)), JSON.stringify(change)).to.deep.equal(ok(expected))
        expect(seen(await get(user.id))).to.deep.equal(ok(expected))
      }
      const nothing = { is_active: null, is_superuser: null, is_verified: null, email: null, password: null }
      expect(seen(await patch(user.id, nothing))).to.deep.equal(ok(expected))
      expect((await login(user.email, goodPassword)).status).to.equal(200)
    })

    it('reset verification with a new address, unless the request declares it verified', async () => {
      const user = await someone()
      await patch(user.id, { is_verified: true })
      const [email, another] = [anAddress(), anAddress()]
      expect(seen(await patch(user.id, { email }))).to.deep.equal(ok({ ...user, email, is_verified: false }))
      expect(seen(await patch(user.id, { email: another, is_verified: true }))).to.deep.equal(
        ok({ ...user, email: another, is_verified: true }),
      )
    })

    it('refuse the same values as PATCH /me', async () => {
      const user = await someone()
      const other = await someone()
      expect(seen(await patch(user.id, { email: other.email.toUpperCase() }))).to.deep.equal(taken)
      expect(seen(await patch(user.id, { email: other.email, password: 'short' }))).to.deep.equal(
        badPassword('too_short', 'Password should be at least 8 characters'),
      )
      const mistyped = await patch(user.id, { email: 1, is_superuser: [], is_verified: 'x' })
      expect(seen(mistyped)).to.deep.equal(
        invalid(stringType('email'), boolType('is_superuser'), boolParsing('is_verified')),
      )
      expect(seen(await get(user.id))).to.deep.equal(ok(user))
    })

    it('check a given current password against the superuser’s', async () => {
      const { user, bearer } = await aUser()
      await patch(user.id, { is_superuser: true })
      const other = await someone()
      await patch(other.id, { password: newPassword })
      const wrong = refused(400, 'UPDATE_USER_BAD_CURRENT_PASSWORD')
      for (const id of [user.id, other.id]) {
        const change = (current_password: string) => patch(id, { email: anAddress(), current_password }, { bearer })
        for (const typed of [newPassword, '']) expect(seen(await change(typed))).to.deep.equal(wrong)
        expect((await change(goodPassword)).status).to.equal(200)
      }
    })

    it('end all sessions of a user with a new password, except the session that sets its own', async () => {
      const { user, bearer, cookie } = await aUser()
      expect(seen(await patch(user.id, { password: newPassword }))).to.deep.equal(ok(user))
      for (const sent of [{ bearer }, { cookie }]) expect(seen(await me(sent))).to.deep.equal(unauthorized)

      await patch(user.id, { is_superuser: true })
      const own = await logIn(service.url, user.email, newPassword)
      const other = await logIn(service.url, user.email, newPassword)
      expect((await patch(user.id, { password: goodPassword }, { bearer: own })).status).to.equal(200)
      expect((await me({ bearer: own })).status).to.equal(200)
      expect(seen(await me({ bearer: other }))).to.deep.equal(unauthorized)
    })

    it('end all sessions by deactivation, and activation restores none', async () => {
      const { user, bearer, cookie } = await aUser()
      // Another process changes the store of this one.
      const document = "document = json_set(document, '$.isActive', json('false'))"
      const deactivate = `UPDATE users SET is_active = 0, ${document}, version = version + 1 WHERE id = ?`
      inSqlite(service.dataFolder, (db) => db.prepare(deactivate).run(String(user.id)))
      for (const sent of [{ bearer }, { cookie }]) expect(seen(await me(sent))).to.deep.equal(unauthorized)
      await patch(user.id, { is_active: true })
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

    it('grant and withdraw rights for the next request of every token', async () => {
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
      await eventually('no row of the user', () =>
        Object.values(rowsOf(service, user.id)).every((count) => count === 0),
      )
      expect((await me({ cookie: other.cookie })).status).to.equal(200)

      const again = await register(service.url, user.email)
      expect(again.id).to.not.equal(user.id)
      for (const sent of [{ bearer }, { cookie }]) expect(seen(await me(sent))).to.deep.equal(unauthorized)
    })
  })
})

function rowsOf({ dataFolder }: TestService, userId: string): Record<string, number> {
  return inSqlite(dataFolder, (db) => {
    const count = (table: string, column: string) =>
      db.prepare<[string], number>(`SELECT count(*) FROM ${table} WHERE ${column} = ?`).pluck().get(String(userId)) ?? 0
    return {
      users: count('users', 'id'),
      sessions: count('sessions', 'user_id'),
      tokens: count('tokens', 'user_id'),
      outbox: count('outbox', 'user_id'),
    }
  })
}
