import { expect } from 'chai'
import { anAddress, invalid, refused, seen } from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const username = { type: 'string', unique: true, title: { en: 'Username', de: 'Benutzername' } }
const settings = {
  users: { fields: { username } },
  backends: {
    jwt: { transport: { kind: 'bearer' }, strategy: { kind: 'jwt' }, loginBy: ['email', 'username'] },
    cookie: { transport: { kind: 'cookie' }, strategy: { kind: 'stored' }, loginBy: ['email', 'username'] },
    other: { transport: { kind: 'bearer' }, strategy: { kind: 'stored' } },
  },
}

describe('a login name', () => {
  let service: TestService
  before(async () => {
    const most = { PORTCULLIS_LIMITS__PASSWORDS_PER_ACCOUNT: '3' }
    service = await startTestService(most, { files: { 'portcullis.config.json': settings } })
  })
  after(() => service.stop())

  const badCredentials = refused(400, 'LOGIN_BAD_CREDENTIALS')
  const login = (username: string, password = goodPassword, backend = 'jwt') =>
    call(service.url, 'POST', `/auth/${backend}/login`, { form: { username, password } })
  const get = async (path: string, languages = 'en') =>
    (await fetch(`${service.url}${path}`, { headers: { 'Accept-Language': languages } })).text()

  let count = 0
  async function somebody(name = `Ada_${++count}`) {
    const json = { email: anAddress(), password: goodPassword, username: name }
    const answer = await call(service.url, 'POST', '/auth/register', { json })
    expect(answer.status, answer.text).to.equal(201)
    return { ...(answer.body as { id: string; email: string }), name } // safe: the status is 201
  }

  it('logs in beside the address, in every spelling that the unique field counts as one', async () => {
    const { email, id } = await somebody('Ζωή ΟΔΥΣΣΕΥΣ')
    for (const spelling of [email, 'Ζωή ΟΔΥΣΣΕΥΣ', 'ζωή οδυσσευσ', ' ζωη\u0301 οδυσσευς\u00a0\u200f']) {
      const answer = await login(spelling)
      expect(answer.status, spelling).to.equal(200)
      const { access_token: bearer } = answer.body as { access_token: string } // safe: the status is 200
      expect((await call(service.url, 'GET', '/users/me', { bearer })).body).to.include({ id })
    }
    expect((await login('Ζωή ΟΔΥΣΣΕΥΣ', goodPassword, 'cookie')).status).to.equal(204)
    expect(seen(await login('Ζωή ΟΔΥΣΣΕΥΣ', goodPassword, 'other')), 'not by this backend').to.deep.equal(
      badCredentials,
    )
  })

  it('is that of the present value only', async () => {
    const { email, name } = await somebody()
    const bearer = await logIn(service.url, email)
    const json = { username: `${name}_new` }
    expect((await call(service.url, 'PATCH', '/users/me', { json, bearer })).status).to.equal(200)
    expect(seen(await login(name))).to.deep.equal(badCredentials)
    expect((await login(`${name}_NEW`)).status).to.equal(200)
    const taken = await somebody(name)
    const { access_token: theirs } = (await login(name)).body as { access_token: string } // safe: they have just registered
    expect((await call(service.url, 'GET', '/users/me', { bearer: theirs })).body).to.include({ id: taken.id })
  })

  it('gets the same answer with a wrong password, without a user, and for a text that can be no name', async () => {
    const { name, email } = await somebody()
    const headersOf = ({ headers }: Awaited<ReturnType<typeof login>>) =>
      [...headers].filter(([header]) => !['date', 'x-request-id'].includes(header))
    const wrong = await login(name, 'a wrong password')
    const others = [
      'nobody_at_all',
      email.replace('@', '＠'),
      `${name}@`,
      '@',
      'x\0y',
      ' ',
      'x'.repeat(9000),
      'constructor',
    ]
    for (const other of others) {
      const answer = await login(other)
      expect(seen(answer), other).to.deep.equal(badCredentials)
      expect(headersOf(answer), other).to.deep.equal(headersOf(wrong))
    }
    expect(seen(wrong)).to.deep.equal(badCredentials)
  })

  it('counts wrong passwords for the account that has it, or for the typed name', async () => {
    const { name, email } = await somebody()
    for (const spelling of [name, name.toUpperCase(), ` ${name} `]) {
      expect(seen(await login(spelling, 'a wrong password'))).to.deep.equal(badCredentials)
    }
    expect((await login(email)).status, 'the address').to.equal(429)
    expect((await login(name)).status).to.equal(429)

    for (const spelling of ['No_Body', 'no_body', ' NO_BODY ']) {
      expect(seen(await login(spelling))).to.deep.equal(badCredentials)
    }
    expect((await login('no_body')).status, 'a name without a user').to.equal(429)
    expect(seen(await login('no_body_else'))).to.deep.equal(badCredentials)
  })

  it('holds no @-sign and no white space around it', async () => {
    const msg = 'Value error, a login name has no @-sign, and no white space around it'
    const unfit = invalid({ type: 'value_error', loc: ['body', 'username'], msg })
    const { email } = await somebody()
    const bearer = await logIn(service.url, email)
    for (const name of [email, 'a＠b', '@', '', ' ada', 'ada\u00a0', '\u200fada']) {
      const json = { email: anAddress(), password: goodPassword, username: name }
      expect(seen(await call(service.url, 'POST', '/auth/register', { json })), name).to.deep.equal(unfit)
      const change = await call(service.url, 'PATCH', '/users/me', { json: { username: name }, bearer })
      expect(seen(change), name).to.deep.equal(unfit)
    }
  })

  it('is in the OpenAPI document and in the label of the sign-in page, of these backends alone', async () => {
    const { paths, components } = JSON.parse(await get('/openapi.json'))
    const formOf = (backend: string): string =>
      paths[`/auth/${backend}/login`].post.requestBody.content['application/x-www-form-urlencoded'].schema.$ref
    expect(['jwt', 'cookie', 'other'].map(formOf)).to.deep.equal(
      ['Login_username', 'Login_username', 'Login'].map((name) => `#/components/schemas/${name}`),
    )
    expect(components.schemas.Login_username.properties.username.description).to.equal(
      'The e-mail address, or `username`',
    )
    const field = /<label for="username"[^>]*>([^<]*)<\/label>\n<input id="username" name="username" type="(\w+)"/
    expect((await get('/account/sign-in')).match(field)?.slice(1)).to.deep.equal(['Email or Username', 'text'])
    expect((await get('/account/sign-in', 'de')).match(field)?.slice(1)).to.deep.equal([
      'E-Mail oder Benutzername',
      'text',
    ])
  })
})

it('the form of a login with names has the name of FastAPI, with the preset', async () => {
  const withPreset = { ...settings, compat: { preset: 'fastapi-users' } }
  const service = await startTestService({}, { files: { 'portcullis.config.json': withPreset } })
  try {
    const { body } = await call(service.url, 'GET', '/openapi.json')
    const names = Object.keys((body as { components: { schemas: object } }).components.schemas) // safe: our document
    expect(names.filter((name) => /login/i.test(name))).to.deep.equal(
      ['jwt', 'cookie', 'other'].map((name) => `Body_auth_${name}_login_auth_${name}_login_post`),
    )
  } finally {
    await service.stop()
  }
})

it('without loginBy, a unique field is no login name, and its values may be addresses', async () => {
  const { backends: _, ...others } = settings
  const service = await startTestService({}, { files: { 'portcullis.config.json': others } })
  try {
    const { email } = await register(service.url, anAddress())
    const bearer = await logIn(service.url, email)
    for (const username of [anAddress(), 'ada']) {
      const change = await call(service.url, 'PATCH', '/users/me', { json: { username }, bearer })
      expect(change.body).to.include({ username })
      const form = { username, password: goodPassword }
      expect((await call(service.url, 'POST', '/auth/jwt/login', { form })).status).to.equal(400)
    }
  } finally {
    await service.stop()
  }
})
