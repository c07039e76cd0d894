import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect } from 'chai'
import {
  anAddress,
  boolType,
  invalid,
  missing,
  notAnObject,
  refused,
  repeated,
  seen,
  stringType,
} from '../support/http/answers.ts'
import { call, goodPassword, logIn, register, type Sent } from '../support/http/client.ts'
import { rawCall } from '../support/http/raw-request.ts'
import { exchangeUntilClosed } from '../support/http/sockets.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const json = { 'Content-Type': 'application/json' }
const urlencoded = { 'Content-Type': 'application/x-www-form-urlencoded' }
const limit = 16 * 1024
const tooLarge = refused(413, 'PAYLOAD_TOO_LARGE')
const unparsable = refused(400, 'There was an error parsing the body')
const badCredentials = refused(400, 'LOGIN_BAD_CREDENTIALS')

const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))

describe('bodies', () => {
  let service: TestService
  let bearer: string
  let email: string

  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    email = anAddress()
    await register(service.url, email)
    bearer = await logIn(service.url, email)
  })
  after(() => service.stop())

  const post = (path: string, headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer>) =>
    call(service.url, 'POST', path, { headers, body })
  const forgot = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json) =>
    post('/auth/forgot-password', headers, body)
  const login = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = urlencoded) =>
    post('/auth/jwt/login', headers, body)
  const untyped = (path: string, body: string) =>
    rawCall(service.url, { method: 'POST', path, headers: [['Content-Length', String(body.length)]], chunks: [body] })
  /** The offset is no contract: V8 does not tell it for every fault. */
  const notJson = ({ status, body }: { status: number; body: unknown }) => {
    const [fault] = (body as { detail: { loc: unknown[] }[] }).detail // safe: compared below
    const offset = fault?.loc[1]
    expect(offset).to.be.a('number')
    const ctx = { error: 'Expecting a JSON value' }
    expect({ status, body }).to.deep.equal(
      invalid({ type: 'json_invalid', loc: ['body', Number(offset)], msg: 'JSON decode error', ctx }),
    )
  }

  describe('of every kind', () => {
    /** A body of JSON that is right, and exactly so many bytes. */
    const sized = (size: number) => {
      const text = JSON.stringify({ email: 'a@example.com', more: '' })
      return text.replace('""', `"${'x'.repeat(size - text.length)}"`)
    }

    it('have at most 16 KiB, measured in bytes', async () => {
      expect((await forgot(sized(limit))).status).to.equal(202)
      for (const size of [limit + 1, 1_000_000]) expect(seen(await forgot(sized(size)))).to.deep.equal(tooLarge)
      const characters = JSON.stringify({ email: 'a@example.com', more: 'é'.repeat(8300) })
      expect(characters.length).to.be.below(limit)
      expect(seen(await forgot(characters))).to.deep.equal(tooLarge)
      const form = (size: number) => 'username=a&password=b&scope='.padEnd(size, 'x')
      expect(seen(await login(form(limit)))).to.deep.equal(badCredentials)
      expect(seen(await login(form(limit + 1)))).to.deep.equal(tooLarge)
    })

    it('are measured as they arrive in chunks, with any type', async () => {
      const chunked = (size: number, type = 'application/json') =>
        rawCall(service.url, {
          method: 'POST',
          path: '/auth/forgot-password',
          headers: [
            ['Transfer-Encoding', 'chunked'],
            ['Content-Type', type],
          ],
          chunks: sized(size).match(/.{1,1000}/g) ?? [],
        })
      expect((await chunked(limit)).status).to.equal(202)
      expect(seen(await chunked(limit + 1))).to.deep.equal(tooLarge)
      expect(seen(await chunked(300_000, 'text/plain'))).to.deep.equal(tooLarge)
    })

    it('end at their Content-Length: later bytes are another request', async () => {
      const body = '{"email":"a@example.com"}'
      const head = (length: number | string) =>
        `POST /auth/forgot-password HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
      const next = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
      const answers = await exchangeUntilClosed(service.url, `${head(body.length)}${body}${next}`)
      expect(answers.match(/HTTP\/1.1 \d+/g)).to.deep.equal(['HTTP/1.1 202', 'HTTP/1.1 200'])
      for (const length of ['-1', '+25', '1e3', '25, 25', '99999999999999999999999', limit + 1]) {
        const answer = await exchangeUntilClosed(service.url, `${head(length)}${body}`)
        expect(answer, String(length)).to.match(/^HTTP\/1.1 4(00|13) /)
      }
      // RFC 9112 sections 5.2 and 6.1: two servers could split these bytes into different requests.
      for (const more of [
        'Transfer-Encoding: chunked',
        'Transfer-Encoding: chunked, gzip',
        'Content-Length: 5',
        ' x',
      ]) {
        const both = head(body.length).replace('\r\n\r\n', `\r\n${more}\r\n\r\n`)
        const answer = await exchangeUntilClosed(service.url, `${both}0\r\n\r\n${next}`)
        expect(answer, more).to.match(/^HTTP\/1.1 400 /)
        expect(answer.match(/HTTP\/1.1 /g), more).to.have.length(1)
      }
    })

    it('must be UTF-8, and not compressed', async () => {
      const text = '{"email":"a@example.com"}'
      for (const [headers, status] of [
        [{ ...json, 'Content-Encoding': 'identity' }, 202],
        [{ ...json, 'Content-Encoding': 'gzip' }, 415],
        [{ ...json, 'Content-Encoding': 'gzip, identity' }, 415],
        [{ 'Content-Type': 'application/json; charset="UTF-8"' }, 202],
        [{ 'Content-Type': 'application/json; charset=utf8' }, 202],
        [{ 'Content-Type': 'application/json; charset=utf-16' }, 415],
        [{ 'Content-Type': 'application/json; charset=iso-8859-1' }, 415],
      ] as const) {
        expect((await forgot(text, headers)).status, JSON.stringify(headers)).to.equal(status)
      }
    })
  })

  describe('of JSON', () => {
    const wrongType = { ...notAnObject, ctx: { reason: 'the route takes application/json' } }

    it('are recognised by their type, and a body of another type counts as no object', async () => {
      const body = '{"email":"a@example.com"}'
      for (const type of ['APPLICATION/JSON', 'application/merge-patch+json']) {
        expect((await forgot(body, { 'Content-Type': type })).status, type).to.equal(202)
      }
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/jsonp',
        'application/json, text/plain',
      ]) {
        expect(seen(await forgot(body, { 'Content-Type': type })), type).to.deep.equal(invalid(wrongType))
      }
      expect(seen(await untyped('/auth/forgot-password', body))).to.deep.equal(invalid(wrongType))
    })

    it('must be objects, and are missing if they are empty or null', async () => {
      for (const body of ['[]', '"x"', '5', 'true']) {
        expect(seen(await forgot(body)), body).to.deep.equal(invalid(notAnObject))
      }
      for (const path of ['/auth/register', '/auth/forgot-password', '/auth/reset-password', '/auth/verify']) {
        expect(seen(await call(service.url, 'POST', path))).to.deep.equal(invalid(missing()))
        expect(seen(await post(path, json, ' null '))).to.deep.equal(invalid(missing()))
      }
      expect(seen(await call(service.url, 'PATCH', '/users/me', { bearer }))).to.deep.equal(invalid(missing()))
    })

    it('are refused if they are malformed, without a word of the text', async () => {
      for (const body of [
        '{"email":"a@example.com"',
        '{"email":"a@example.com"}x',
        '{"email":"a@example.com",}',
        "{'email':'a@example.com'}",
        '\ufeff{}',
        '{"email":NaN}',
        '{} // a comment',
        ' ',
        '['.repeat(limit),
      ]) {
        notJson(await forgot(body))
      }
      const answer = await forgot('{"email":"typed in vain" typed in vain}')
      expect(answer.status).to.equal(422)
      expect(answer.text).to.not.contain('vain')
    })

    it('must be UTF-8, or two passwords would become equal', async () => {
      const head = '{"email":"a@example.com","password":"long enough '
      for (const bad of ['\xff', '\xc0\xaf', '\xed\xa0\x80', '\xf4\x90\x80\x80', '\xc3', '\x80']) {
        const answer = await post('/auth/register', json, bytes(`${head}${bad}"}`))
        expect(seen(answer), escape(bad)).to.deep.equal(unparsable)
      }
    })

    it('may nest as deeply as their size allows', async () => {
      const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
      expect((await forgot(`{"email":"a@example.com","more":${deep(8000)}}`)).status).to.equal(202)
      const everyField = `{"email":${deep(2500)},"password":${deep(2500)},"is_active":${deep(2500)}}`
      expect((await post('/auth/register', json, everyField)).status).to.equal(422)
    })

    it('must not repeat a field', async () => {
      expect(seen(await forgot('{"email":"a@example.com","\\u0065mail":"a@example.com"}'))).to.deep.equal(
        invalid(repeated('email')),
      )
      const body = '{"password":"x","email":1,"is_active":{},"password":null,"email":"\\"email\\":"}'
      expect(seen(await post('/auth/register', json, body))).to.deep.equal(
        invalid(repeated('email'), repeated('password'), boolType('is_active')),
      )
      const nested = '{"email":"a@example.com","x":{"email":1,"email":2},"y":["email","email"]}'
      expect((await forgot(nested)).status).to.equal(202)
    })

    it('cannot change a prototype', async () => {
      for (const field of ['__proto__', 'constructor']) {
        const evil = '{"is_superuser":true,"polluted":true,"prototype":{"polluted":true}}'
        const body = `{"${field}":${evil},"email":"${anAddress('proto')}","password":"${goodPassword}"}`
        const answer = await post('/auth/register', json, body)
        expect(answer.status).to.equal(201)
        expect(answer.body).to.include({ is_superuser: false })
      }
      const inherited = `{"__proto__":{"email":"${anAddress()}","password":"${goodPassword}"}}`
      const both = invalid(missing('email'), missing('password'))
      expect(seen(await post('/auth/register', json, inherited))).to.deep.equal(both)
      expect(Object.keys(Object.prototype)).to.deep.equal([])
      expect({}).to.not.have.property('polluted')
    })

    it('must have well-formed Unicode in text fields', async () => {
      const me = (sent: Sent) => call(service.url, 'PATCH', '/users/me', { bearer, ...sent })
      const password = invalid(stringType('password'))
      for (const value of ['5', 'true', '["x"]', '{"$ne":null}', '"long enough \\ud800"', '"\\udc00\\ud800 enough"']) {
        const register = `{"email":"${anAddress()}","password":${value}}`
        expect(seen(await post('/auth/register', json, register)), value).to.deep.equal(password)
        const reset = `{"token":"x","password":${value}}`
        expect(seen(await post('/auth/reset-password', json, reset)), value).to.deep.equal(password)
        const verify = `{"token":${value}}`
        expect(seen(await post('/auth/verify', json, verify)), value).to.deep.equal(invalid(stringType('token')))
        const change = `{"password":${value},"current_password":${value}}`
        expect(seen(await me({ headers: json, body: change })), value).to.deep.equal(
          invalid(stringType('password'), stringType('current_password')),
        )
      }
      expect((await forgot('{"email":"a\\ud800@example.com"}')).status).to.equal(422)
      const paired = `{"email":"${anAddress()}","password":"long enough \\ud83d\\ude00"}`
      expect((await post('/auth/register', json, paired)).status).to.equal(201)
    })
  })

  describe('of forms', () => {
    const typed = () => `username=${encodeURIComponent(email)}&password=${encodeURIComponent(goodPassword)}`

    it('are decoded as browsers encode them', async () => {
      for (const right of [
        typed(),
        typed().replaceAll('%20', '+'),
        `&&${typed().replace('username', 'user%6Eame')}&`,
      ]) {
        expect((await login(right)).status, right).to.equal(200)
      }
      const charset = { 'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8' }
      expect((await login(typed(), charset)).status).to.equal(200)
      expect(seen(await login(`username=%&password=%zz`))).to.deep.equal(badCredentials)
      expect(seen(await login('username=a=b&password=c;d'))).to.deep.equal(badCredentials)
    })

    it('are UTF-8 after decoding', async () => {
      for (const bad of ['%ff', '%c0%af', '%ed%a0%80', '\xff']) {
        expect(seen(await login(bytes(`username=a&password=${bad}`))), bad).to.deep.equal(unparsable)
        expect(seen(await login(bytes(`username=a&password=b&${bad}=x`))), bad).to.deep.equal(unparsable)
      }
    })

    it('are recognised by their type, and a 422 names it', async () => {
      const ctx = { reason: 'the route takes a form (application/x-www-form-urlencoded)' }
      const noForm = invalid({ ...missing('username'), ctx }, { ...missing('password'), ctx })
      expect(seen(await login(JSON.stringify({ username: email, password: goodPassword }), json))).to.deep.equal(noForm)
      for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencodedx']) {
        expect(seen(await login(typed(), { 'Content-Type': type })), type).to.deep.equal(noForm)
      }
      expect(seen(await untyped('/auth/jwt/login', typed()))).to.deep.equal(noForm)
    })
  })

  describe('of multipart forms', () => {
    const boundary = 'portcullis-boundary'
    const multipart = { 'Content-Type': `multipart/form-data; boundary=${boundary}` }
    const part = (disposition: string, value: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`
    const body = (...parts: readonly string[]) => `${parts.join('')}--${boundary}--\r\n`
    const username = () => part('name="username"', email)
    const password = part('name="password"', goodPassword)

    it('log in as other forms do', async () => {
      const grantType = part('name="grant_type"', '')
      const noName = part('name="username"', '')
      for (const [parts, expected] of [
        [[username()], invalid(missing('password'))],
        [[username(), password, username()], invalid(repeated('username'))],
        [[noName, password], invalid(missing('username'))],
      ] as const) {
        expect(seen(await login(body(...parts), multipart))).to.deep.equal(expected)
      }
      expect((await login(body(password, grantType, username()), multipart)).status).to.equal(200)
    })

    it('may name their fields by tokens, with white space, and in any case', async () => {
      for (const disposition of [
        'name=username',
        'NAME = username',
        'name="username";',
        'name="user\\name"; x="a;b"',
      ]) {
        expect((await login(body(part(disposition, email), password), multipart)).status, disposition).to.equal(200)
      }
      const upload = part("name=file; filename=x.png; filename*=utf-8''x.png", 'x')
      expect((await login(body(username(), password, upload), multipart)).status).to.equal(200)
    })

    it('keep the bytes of a password, including a byte order mark', async () => {
      for (const own of [`\ufeff${goodPassword}`, `king-\ufeffpüß-${goodPassword}`]) {
        const { email: address } = await register(service.url, anAddress('marked'), own)
        const logInWith = async (typed: string) => {
          const parts = [part('name="username"', address), part('name="password"', typed)]
          return (await login(body(...parts), multipart)).status
        }
        expect(await logInWith(own)).to.equal(200)
        expect(await logInWith(own.replace('\ufeff', ''))).to.equal(400)
      }
      const marked = part('name="username"', email.replace('@', '\ufeff@')) // a mark around an address does not count
      expect(seen(await login(body(marked, password), multipart))).to.deep.equal(badCredentials)
    })

    it('may have only text fields, and write no file', async () => {
      const before = new Set(readdirSync(tmpdir()))
      const file = part('name="password"; filename="password.txt"', goodPassword)
      expect(seen(await login(body(username(), file), multipart))).to.deep.equal(invalid(missing('password')))
      const extra = part('name="extra"; filename="../../x"', 'x')
      expect((await login(body(username(), password, extra), multipart)).status).to.equal(200)
      const large = part('name="password"; filename="x"', 'y'.repeat(limit))
      expect(seen(await login(body(username(), large), multipart))).to.deep.equal(tooLarge)
      const uploads = readdirSync(tmpdir()).filter((name) => !before.has(name))
      // Other tests may run beside; koa-body and formidable would call theirs by 25 letters and digits.
      expect(uploads.filter((name) => /^[a-z0-9]{20,}$/.test(name))).to.deep.equal([])
    })

    it('are refused if they are malformed', async () => {
      const whole = body(username(), password)
      for (const text of [
        '',
        whole.slice(0, -8),
        whole.slice(0, 40),
        whole.replaceAll('\r\n', '\n'),
        whole.replaceAll('form-data', 'attachment'),
        whole.replace('name="username"', 'username'),
        whole.replace('name="username"', 'name="username'),
        whole.replace('name="username"', 'name="username"x'),
        whole.replace('name="username"', 'name=username"'),
        whole.replace('name="username"', 'filename="x; name="username"'),
        whole.replace('name="username"', 'name="username"; NAME="username"'),
        whole.replace('name="username"', 'name=username; name="password"'),
        whole.replace('name="username"', 'name="username"\r\nContent-Disposition: form-data; name="x"'),
        whole.replaceAll(boundary, 'another'),
      ]) {
        expect(seen(await login(text, multipart)), text).to.deep.equal(unparsable)
      }
      for (const boundaries of ['', `; boundary=${boundary}; boundary=x`, `; boundary="${boundary}`]) {
        const answer = await login(whole, { 'Content-Type': `multipart/form-data${boundaries}` })
        expect(seen(answer), boundaries).to.deep.equal(unparsable)
      }
      const notText = bytes(body(username(), part('name="password"', '\xff')))
      expect(seen(await login(notText, multipart))).to.deep.equal(unparsable)
    })
  })
})
