import { expect } from 'chai'
import {
  anAddress,
  badAddress,
  boolParsing,
  boolType,
  cookiesOf,
  invalid,
  listType,
  missing,
  refused,
  seen,
  stringType,
} from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { itWithUuids } from '../support/mocha/long.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('the Register router', () => {
  let service: TestService
  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())

  const post = (json: unknown) => call(service.url, 'POST', '/auth/register', { json })
  const attempt = (email: string, password = goodPassword) => post({ email, password })
  const login = (username: string, password: string) =>
    call(service.url, 'POST', '/auth/jwt/login', { form: { username, password } })
  const badCredentials = refused(400, 'LOGIN_BAD_CREDENTIALS')
  const taken = refused(400, 'REGISTER_USER_ALREADY_EXISTS')
  const badPassword = (rule: string, reason: string) =>
    refused(400, { code: 'REGISTER_INVALID_PASSWORD', reason, rule })

  itWithUuids('answers 201 with the five fields of a new user, in their order', async () => {
    const email = anAddress()
    const answer = await attempt(email)
    expect(answer.status).to.equal(201)
    const { id } = answer.body as { id: string } // safe: the text below is compared whole
    expect(id).to.match(uuid7)
    expect(answer.text).to.equal(
      `{"id":"${id}","email":"${email}","is_active":true,"is_superuser":false,"is_verified":false}`,
    )
    const { event, user } = await service.event(({ event, user }) => event === 'on_after_register' && user.id === id)
    expect({ event, user }).to.deep.equal({ event: 'on_after_register', user: answer.body })
    expect(cookiesOf(answer)).to.deep.equal(['__Host-device'])
  })

  it('keeps the spelling of an address, and recognises every other spelling', async () => {
    const [local] = anAddress('Sigma').split('@')
    const email = `${local}οσ@münchen.example`
    expect((await attempt(` ${local}οσ@XN--MNCHEN-3YA.example `)).body).to.include({ email })
    for (const spelling of [email, email.toLowerCase(), ` ${email.toUpperCase()}`, `${local}ος@münchen.example`]) {
      expect(seen(await attempt(spelling)), spelling).to.deep.equal(taken)
      expect((await login(spelling, goodPassword)).status, spelling).to.equal(200)
    }
  })

  it('accepts white space and bidi marks around an address, as every other route does', async () => {
    const email = anAddress()
    const copied = `\u200f\t${email}\u00a0\u2069`
    expect((await attempt(copied)).body).to.include({ email })
    expect((await login(copied, goodPassword)).status).to.equal(200)
    const bearer = await logIn(service.url, email)
    for (const path of ['/auth/forgot-password', '/auth/request-verify-token']) {
      expect((await call(service.url, 'POST', path, { json: { email: copied } })).status, path).to.equal(202)
    }
    const other = anAddress()
    const json = { email: `\u2066${other}\u2003` }
    expect((await call(service.url, 'PATCH', '/users/me', { json, bearer })).body).to.include({ email: other })
  })

  it('refuses a new address that a mail server could deliver to another mailbox', async () => {
    const email = `a%b.${anAddress()}`
    const reason = 'The part before the @-sign contains characters that some mail servers read as another address.'
    const unfit = invalid(badAddress(reason, 'email'))
    expect(seen(await attempt(email))).to.deep.equal(unfit)
    const bearer = await logIn(service.url, (await register(service.url, anAddress())).email)
    const change = await call(service.url, 'PATCH', '/users/me', { json: { email }, bearer })
    expect(seen(change)).to.deep.equal(unfit)
    expect((await call(service.url, 'POST', '/auth/forgot-password', { json: { email } })).status).to.equal(202)
  })

  const unfitAsNew = [
    [`ﬁ.${anAddress()}`, 'The part before the @-sign contains characters that are not allowed.'],
    [`${'x'.repeat(60)}.${anAddress()}`, 'The part before the @-sign is too long (at most 64 bytes).'],
  ] as const

  it('refuses new addresses with look-alike characters, or with more than 64 bytes before the @-sign', async () => {
    const bearer = await logIn(service.url, (await register(service.url, anAddress())).email)
    for (const [email, objection] of unfitAsNew) {
      const refusal = invalid(badAddress(objection, 'email'))
      expect(seen(await attempt(email))).to.deep.equal(refusal)
      expect(seen(await call(service.url, 'PATCH', '/users/me', { json: { email }, bearer }))).to.deep.equal(refusal)
      expect(seen(await login(email, goodPassword))).to.deep.equal(badCredentials)
    }
    const [[lookAlike]] = unfitAsNew
    expect((await attempt(lookAlike.normalize('NFKC'))).status).to.equal(201)
    expect(seen(await login(lookAlike, goodPassword)), 'another user').to.deep.equal(badCredentials)
  })

  it('serves users who have such an address, as it serves others', async () => {
    for (const [email] of unfitAsNew) {
      await enrol({}, service.dataFolder, [email])
      const bearer = await logIn(service.url, ` ${email} `)
      const kept = await call(service.url, 'PATCH', '/users/me', {
        json: { email, password: `${goodPassword}!` },
        bearer,
      })
      expect(kept.body).to.include({ email })
      expect((await call(service.url, 'POST', '/auth/forgot-password', { json: { email } })).status).to.equal(202)
      await service.event(({ event, user }) => event === 'on_after_forgot_password' && user.email === email)
    }
  })

  it('checks the types of fields that only superusers may set, and ignores them', async () => {
    const password = goodPassword
    const answer = await post({ email: anAddress(), password, is_superuser: 'maybe', is_active: {}, is_verified: 2 })
    expect(seen(answer)).to.deep.equal(
      invalid(boolType('is_active'), boolParsing('is_superuser'), boolParsing('is_verified')),
    )
    for (const value of [true, 1, 'TRUE', 't', 'Yes', 'ON', null, false, 0, 'off', 'n']) {
      const flags = { is_active: value, is_superuser: value, is_verified: value }
      const { status, body } = await post({ email: anAddress(), password, ...flags })
      expect(status, JSON.stringify(value)).to.equal(201)
      expect(body).to.include({ is_active: true, is_superuser: false, is_verified: false })
    }
  })

  it('checks the types of an id and of linked accounts', async () => {
    const email = anAddress()
    const password = goodPassword
    const faults = invalid(stringType('id'), listType('oauth_accounts'))
    expect(seen(await post({ email, password, id: 5, oauth_accounts: 'x' }))).to.deep.equal(faults)
    expect((await post({ email, password, id: null, oauth_accounts: null })).status).to.equal(201)
  })

  it('ignores all other fields', async () => {
    const email = anAddress()
    const id = '00000000-0000-7000-8000-000000000000'
    const answer = await post({
      id,
      oauth_accounts: [{ oauth_name: 'x' }],
      email,
      password: goodPassword,
      isSuperuser: true,
      isVerified: true,
      passwordHash: 'x',
      hashed_password: 'x',
      version: 9,
      sessions: { generation: 9 },
      user: { is_superuser: true },
    })
    expect(answer.status).to.equal(201)
    expect(answer.body).to.have.all.keys('id', 'email', 'is_active', 'is_superuser', 'is_verified')
    expect(answer.body).to.include({ is_active: true, is_superuser: false, is_verified: false })
    expect(answer.body).to.not.include({ id })
    const stored = await call(service.url, 'GET', '/users/me', { bearer: await logIn(service.url, email) })
    expect(stored.body).to.deep.equal(answer.body)
  })

  it('reports all faults in the order of the schema, without the input', async () => {
    expect(seen(await post({}))).to.deep.equal(invalid(missing('email'), missing('password')))
    const answer = await post({ is_active: {}, password: ['typed in vain'], email: 'typed in vain' })
    expect(seen(answer)).to.deep.equal(
      invalid(
        badAddress('An email address must have an @-sign.', 'email'),
        stringType('password'),
        boolType('is_active'),
      ),
    )
    expect(answer.text).to.not.contain('typed in vain')
  })

  describe('a password', () => {
    it('is refused with a reason', async () => {
      const email = anAddress('whole.name')
      const isAddress = 'Password should not be the e-mail address or the part before its @-sign'
      for (const [password, rule, reason] of [
        ['', 'too_short', 'Password should be at least 8 characters'],
        ['😀'.repeat(7), 'too_short', 'Password should be at least 8 characters'],
        ['é'.repeat(513), 'too_long', 'Password should be at most 1024 bytes'],
        ['PassWord', 'common', 'Password is one of the most common ones'],
        [email.toUpperCase(), 'contains_email', isAddress],
        [email.split('@')[0] ?? '', 'contains_email', isAddress],
      ] as const) {
        const answer = await attempt(email, password)
        expect(seen(answer), password).to.deep.equal(badPassword(rule, reason))
      }
      expect((await attempt(email)).status).to.equal(201)
    })

    it('is neither trimmed nor cut', async () => {
      const email = anAddress()
      const password = ` \u0000 pass \u0000phrase\t${'z'.repeat(120)}`
      expect((await attempt(email, password)).status).to.equal(201)
      expect((await login(email, password)).status).to.equal(200)
      const beforeNull = password.slice(0, password.lastIndexOf('\u0000'))
      for (const other of [password.trim(), password.slice(0, -1), beforeNull, `${password} `]) {
        expect(seen(await login(email, other)), JSON.stringify(other)).to.deep.equal(badCredentials)
      }
    })
  })
})
