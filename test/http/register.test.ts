import { expect } from 'chai'
import {
  anAddress,
  badAddress,
  boolParsing,
  boolType,
  invalid,
  listType,
  missing,
  refused,
  seen,
  stringType,
} from '../support/answers.ts'
import { call, goodPassword, logIn } from '../support/client.ts'
import { startTestService, type TestService } from '../support/service.ts'

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
  const taken = refused(400, 'REGISTER_USER_ALREADY_EXISTS')
  const badPassword = (reason: string) => refused(400, { code: 'REGISTER_INVALID_PASSWORD', reason })

  it('answers 201 with the five fields of a new user, in their order', async () => {
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
    expect(answer.headers.get('Set-Cookie')).to.equal(null)
  })

  it('keeps the spelling of an address, and recognises every other spelling', async () => {
    const email = anAddress('Some.Body')
    expect((await attempt(` ${email.replace('example', 'EXAMPLE')} `)).body).to.include({ email })
    for (const spelling of [email, email.toLowerCase(), email.toUpperCase(), ` ${email}`]) {
      expect(seen(await attempt(spelling)), spelling).to.deep.equal(taken)
    }
  })

  it('refuses a second account for an address that differs only in its sigma', async () => {
    const local = anAddress('sigma').split('@')[0]
    expect((await attempt(`${local}οσ@example.com`)).status).to.equal(201)
    for (const end of ['ΟΣ', 'ος', 'Οσ', 'οΣ']) {
      expect(seen(await attempt(`${local}${end}@example.com`)), end).to.deep.equal(taken)
      expect((await login(`${local}${end}@example.com`, goodPassword)).status, end).to.equal(200)
    }
  })

  it('refuses addresses with look-alike characters, also at the login', async () => {
    const address = `ﬁ.${anAddress()}`
    const objection = 'The part before the @-sign contains characters that are not allowed.'
    expect(seen(await attempt(address))).to.deep.equal(invalid(badAddress(objection, 'email')))
    expect((await attempt(address.normalize('NFKC'))).status).to.equal(201)
    expect(seen(await login(address, goodPassword))).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
  })

  it('shows an international domain in Unicode, and recognises it in ASCII', async () => {
    const local = anAddress('idn').split('@')[0]
    expect((await attempt(`${local}@xn--mnchen-3ya.example`)).body).to.include({ email: `${local}@münchen.example` })
    expect(seen(await attempt(`${local}@MÜNCHEN.example`))).to.deep.equal(taken)
  })

  it('checks the types of fields that only superusers may set, and ignores them', async () => {
    const email = anAddress()
    const password = goodPassword
    const answer = await post({ email, password, is_superuser: 'maybe', is_active: {}, is_verified: 2 })
    expect(seen(answer)).to.deep.equal(
      invalid(boolType('is_active'), boolParsing('is_superuser'), boolParsing('is_verified')),
    )
    for (const value of [[], 1.5, 'x', '']) {
      const fault = typeof value === 'string' ? boolParsing('is_superuser') : boolType('is_superuser')
      expect(seen(await post({ email, password, is_superuser: value }))).to.deep.equal(invalid(fault))
    }
    for (const value of [true, 1, 'true', 'TRUE', '1', 't', 'Yes', 'y', 'ON', null, false, 0, 'off', 'N', 'f', 'no']) {
      const address = anAddress()
      const flags = { is_active: value, is_superuser: value, is_verified: value }
      const { status, body } = await post({ email: address, password, ...flags })
      expect(status, JSON.stringify(value)).to.equal(201)
      expect(body).to.include({ email: address, is_active: true, is_superuser: false, is_verified: false })
    }
  })

  it('checks the types of an id and of linked accounts, and ignores them', async () => {
    const email = anAddress()
    const password = goodPassword
    const faults = invalid(stringType('id'), listType('oauth_accounts'))
    for (const [id, accounts] of [
      [5, 'x'],
      [{}, {}],
      [true, 1],
    ]) {
      expect(seen(await post({ email, password, id, oauth_accounts: accounts }))).to.deep.equal(faults)
    }
    expect((await post({ email, password, id: null, oauth_accounts: null })).status).to.equal(201)
    expect((await post({ email: anAddress(), password, id: 'x', oauth_accounts: [] })).status).to.equal(201)
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
    expect(seen(await post({ is_active: {}, password: 5, email: null }))).to.deep.equal(
      invalid(stringType('email'), stringType('password'), boolType('is_active')),
    )
    const answer = await post({ password: ['typed in vain'], email: 'typed in vain' })
    expect(seen(answer)).to.deep.equal(
      invalid(badAddress('An email address must have an @-sign.', 'email'), stringType('password')),
    )
    expect(answer.text).to.not.contain('typed in vain')
  })

  it('refuses malformed addresses', async () => {
    for (const email of [
      '',
      ' ',
      'a',
      '@example.com',
      'a@',
      'a@example',
      'a@b@example.com',
      'a@example.com,b@example.com',
      'a@example.com;b@example.com',
      '"a"@example.com',
      'a (x)@example.com',
      '<a@example.com>',
      'a..b@example.com',
      '.a@example.com',
      'a b@example.com',
      'a\r\nBcc:b@example.com',
      'a\u0000@example.com',
      'a@exam\u0000ple.com',
      'a@127.0.0.1',
      'a@[127.0.0.1]',
      'a\u202eb@example.com',
      'a\ud800@example.com',
      'a\uff20b@example.com',
      `${'a'.repeat(65)}@example.com`,
      `a@${'b'.repeat(250)}.com`,
    ]) {
      const { status, body } = await attempt(email)
      expect(status, JSON.stringify(email)).to.equal(422)
      const { detail } = body as { detail: { type: string; loc: unknown; msg: string; ctx: { reason: string } }[] } // safe: 422
      expect(detail).to.have.length(1)
      expect(detail[0]).to.deep.equal(badAddress(detail[0]?.ctx.reason ?? '', 'email'))
    }
  })

  describe('a password', () => {
    it('is refused with a reason, and never repeated', async () => {
      const email = anAddress('whole.name')
      for (const [password, reason] of [
        ['', 'Password should be at least 8 characters'],
        ['1234567', 'Password should be at least 8 characters'],
        ['😀'.repeat(7), 'Password should be at least 8 characters'],
        ['x'.repeat(1025), 'Password should be at most 1024 bytes'],
        ['é'.repeat(513), 'Password should be at most 1024 bytes'],
        ['password', 'Password is one of the most common ones'],
        ['PassWord', 'Password is one of the most common ones'],
        [email, 'Password should not be the e-mail address or the part before its @-sign'],
        [email.toUpperCase(), 'Password should not be the e-mail address or the part before its @-sign'],
        [email.split('@')[0] ?? '', 'Password should not be the e-mail address or the part before its @-sign'],
      ] as const) {
        const answer = await attempt(email, password)
        expect(seen(answer), password).to.deep.equal(badPassword(reason))
        expect(answer.headers.get('Set-Cookie')).to.equal(null)
      }
      expect((await attempt(email)).status).to.equal(201)
    })

    it('is measured in code points, up to 1 024 bytes', async () => {
      for (const password of [
        '😀😁😂🤣😃😄😅😆',
        'éê'.repeat(256),
        `${'yy-'.repeat(341)}y`,
        'a long one with common password in it',
      ]) {
        const email = anAddress()
        expect((await attempt(email, password)).status, password).to.equal(201)
        expect((await login(email, password)).status, password).to.equal(200)
      }
    })

    it('is equal in NFC and NFD, and otherwise different', async () => {
      const email = anAddress()
      expect((await attempt(email, 'Caf\u00e9 ﬁne pass')).status).to.equal(201)
      expect((await login(email, 'Cafe\u0301 ﬁne pass')).status).to.equal(200)
      for (const other of ['Cafe ﬁne pass', 'Caf\u00e9 fine pass', 'caf\u00e9 ﬁne pass']) {
        expect(seen(await login(email, other)), other).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
      }
    })

    it('is neither trimmed nor cut', async () => {
      const email = anAddress()
      const password = ` \u0000 pass \u0000phrase\t${'z'.repeat(120)}`
      expect((await attempt(email, password)).status).to.equal(201)
      expect((await login(email, password)).status).to.equal(200)
      for (const other of [
        password.trim(),
        password.slice(0, -1),
        password.replaceAll('\u0000', ''),
        password.slice(0, password.lastIndexOf('\u0000')),
        `${password} `,
        password.slice(1),
      ]) {
        expect((await login(email, other)).status, JSON.stringify(other)).to.equal(400)
      }
    })

    it('of lone surrogates is refused, since it would equal others', async () => {
      const answer = await attempt(anAddress(), 'lone \ud800 surrogate')
      expect(seen(answer)).to.deep.equal(invalid(stringType('password')))
    })

    it('that is invalid is reported before a taken address', async () => {
      const email = anAddress()
      await attempt(email)
      expect(seen(await attempt(email, 'short'))).to.deep.equal(badPassword('Password should be at least 8 characters'))
    })
  })

  it('gives an address to exactly one of 64 concurrent registrations', async () => {
    const email = anAddress('Race')
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, n) => attempt(n % 2 === 0 ? email : email.toUpperCase())),
    )
    expect(answers.filter(({ status }) => status === 201)).to.have.length(1)
    for (const answer of answers.filter(({ status }) => status !== 201)) expect(seen(answer)).to.deep.equal(taken)
    await service.event(
      ({ event, user }) => event === 'on_after_register' && user.email.toLowerCase() === email.toLowerCase(),
    )
  })
})
