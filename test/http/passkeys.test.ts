import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { eventually } from '../support/eventually.ts'
import { anAddress, cookiesOf, empty, notFound, refused, seen } from '../support/http/answers.ts'
import { call, logIn, register } from '../support/http/client.ts'
import { tokenOf } from '../support/scenes/app-sign-in.ts'
import {
  Authenticator,
  type CreationOptions,
  type Faults,
  type RequestOptions,
} from '../support/scenes/authenticator.ts'
import { challenged, codeOf, enrolled, prove } from '../support/scenes/factors.ts'
import { superuserToken } from '../support/scenes/superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const refusedPasskey = refused(400, 'PASSKEY_REFUSED')
const androidApp = `android:apk-key-hash:${'k'.repeat(43)}`
const refusedFactor = refused(400, 'SECOND_FACTOR_REFUSED')

describe('passkeys', () => {
  let service: TestService
  let url: string
  const now = fixedClock()
  const pass = now.advance

  before(async () => {
    const env = {
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
      PORTCULLIS_LIMITS__ENABLED: 'false',
      PORTCULLIS_HTTP__ALLOWED_ORIGINS: androidApp,
    }
    service = await startTestService(env, { clock: now })
    url = service.url
  })
  after(() => service.stop())

  const authenticator = () => new Authenticator(new URL(url).origin)
  const offered = async (bearer: string): Promise<CreationOptions> => {
    const answer = await call(url, 'POST', '/users/me/factors/passkeys/options', { bearer })
    expect(answer.status).to.equal(200)
    return answer.body as CreationOptions // safe: its use proves it
  }
  const add = async (bearer: string, one: Authenticator, faults: Faults = {}, name: string | null = 'Telephone') => {
    const response = one.create(await offered(bearer), faults)
    const json = { response, ...(name !== null && { name }) }
    const headers = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
    return await call(url, 'POST', '/users/me/factors/passkeys', { bearer, json, headers })
  }
  const asked = async (backend = 'jwt'): Promise<RequestOptions & { cookie: string }> => {
    const answer = await call(url, 'POST', `/auth/${backend}/passkey/options`)
    expect(answer.status).to.equal(200)
    const [cookie = ''] = answer.headers.getSetCookie()
    return { ...(answer.body as RequestOptions), cookie: cookie.split(';')[0] ?? '' } // safe: its use proves it
  }
  const send = (response: object, { backend = 'jwt', cookie = '' } = {}) =>
    call(url, 'POST', `/auth/${backend}/passkey`, { json: { response }, cookie })
  const signIn = async (one: Authenticator, faults: Faults = {}) => send(one.get(await asked(), faults))
  /** A user with a passkey. */
  const somebody = async () => {
    const email = anAddress()
    const { id } = await register(url, email)
    const passkey = authenticator()
    const answer = await add(await logIn(url, email), passkey)
    return { id, email, bearer: tokenOf(answer), passkey, answer }
  }

  it('are added with recovery codes, end all other logins, and log in without an address at level 2', async () => {
    const email = anAddress()
    await register(url, email)
    const [other, bearer] = [await logIn(url, email), await logIn(url, email)]
    const passkey = authenticator()
    const answer = await add(bearer, passkey)
    const { recovery_codes, passkey: added } = answer.body as { recovery_codes: string[]; passkey: object } // safe: asserted
    expect(recovery_codes).to.have.lengthOf(10)
    const listed = { id: passkey.id, name: 'Telephone', added_at: now().toISOString(), domain: 'localhost' }
    expect(added).to.deep.equal(listed)
    const factors = await call(url, 'GET', '/users/me/factors', { bearer: tokenOf(answer) })
    expect(factors.body).to.deep.equal({
      totp: null,
      passkeys: [listed],
      recovery_codes: 10,
      reset_at: null,
      is_required: false,
    })
    for (const ended of [other, bearer])
      expect((await call(url, 'GET', '/users/me', { bearer: ended })).status).to.equal(401)

    const token = tokenOf(await signIn(passkey))
    expect(decodeJwt(token)).to.deep.include({ amr: ['hwk', 'user', 'mfa'], acr: '2' })
    const me = await call(url, 'GET', '/users/me', { bearer: token })
    expect(me.body).to.include({ email })
    await service.event(({ user, changes }) => user.email === email && changes?.factor_added === 'passkey')
  })

  it('answer the challenge of a login with the password', async () => {
    const { email, passkey } = await somebody()
    const { challenge, methods } = await challenged(url, email)
    expect(methods).to.deep.equal(['passkey', 'recovery_code'])
    const finish = async (response: object, of = challenge) =>
      await call(url, 'POST', '/auth/jwt/second-factor', { json: { challenge: of, method: 'passkey', response } })
    const stranger = await somebody()
    expect(seen(await finish(stranger.passkey.get(await asked())))).to.deep.equal(refusedFactor)
    const answer = await finish(passkey.get(await asked()))
    expect(decodeJwt(tokenOf(answer)).amr).to.deep.equal(['pwd', 'hwk', 'user', 'mfa'])
  })

  it('are those of an Android app, too, whose key http.allowedOrigins names', async () => {
    const { bearer } = await somebody()
    const passkey = authenticator()
    expect((await add(bearer, passkey, { origin: androidApp })).status).to.equal(200)
    expect((await signIn(passkey, { origin: androidApp })).status).to.equal(200)
  })

  it('are added whatever the format of their attestation, which no route asks for', async () => {
    const { bearer } = await somebody()
    for (const format of ['tpm', 'apple', 'compound']) {
      const passkey = authenticator()
      expect((await add(bearer, passkey, { format })).status, format).to.equal(200)
      expect((await signIn(passkey)).status, format).to.equal(200)
    }
  })

  it('work in the browser of their challenge alone, at a backend with cookies', async () => {
    const { passkey } = await somebody()
    const options = await asked('cookie')
    const response = passkey.get(options)
    expect(seen(await send(response, { backend: 'cookie' }))).to.deep.equal(refusedPasskey)
    const answer = await send(response, { backend: 'cookie', cookie: options.cookie })
    expect(answer.status).to.equal(204)
    expect(cookiesOf(answer)).to.include.members(['__Host-session', '__Host-device'])
  })

  it('take each answer once, for five minutes, and one of many concurrent ones', async () => {
    const { passkey } = await somebody()
    const response = passkey.get(await asked())
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(response)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(400)])
    expect(seen(await send(response))).to.deep.equal(refusedPasskey)
    const late = passkey.get(await asked())
    pass(300)
    expect(seen(await send(late))).to.deep.equal(refusedPasskey)
  })

  const faults: Readonly<Record<string, Faults>> = {
    'of another origin': { origin: 'https://evil.example' },
    'of another Android app': { origin: androidApp.replaceAll('k', 'x') },
    'of another port': { origin: 'http://localhost:1' },
    'in a frame of another origin': { crossOrigin: true },
    'for another domain': { rpId: 'evil.example' },
    'without user verification': { isUserVerified: false },
    'for a challenge that nobody made': { challenge: 'a'.repeat(43) },
  }
  for (const [what, fault] of Object.entries(faults)) {
    it(`are refused ${what}`, async () => {
      const { bearer, passkey } = await somebody()
      expect(seen(await signIn(passkey, fault))).to.deep.equal(refusedPasskey)
      expect(seen(await add(bearer, authenticator(), fault))).to.deep.equal(refusedFactor)
      expect((await signIn(passkey)).status).to.equal(200)
    })
  }

  it('are refused without a user, for or of another user, and if they are not discoverable', async () => {
    const [one, other] = [await somebody(), await somebody()]
    const handleOf = (await offered(other.bearer)).user.id
    expect(seen(await signIn(one.passkey, { userHandle: null }))).to.deep.equal(refusedPasskey)
    expect(seen(await signIn(one.passkey, { userHandle: handleOf }))).to.deep.equal(refusedPasskey)
    expect(seen(await signIn(authenticator(), { userHandle: handleOf }))).to.deep.equal(refusedPasskey)
    expect(seen(await add(one.bearer, authenticator(), { isDiscoverable: false }))).to.deep.equal(refusedFactor)
    expect(seen(await add(other.bearer, one.passkey))).to.deep.equal(refused(400, 'FACTOR_ALREADY_EXISTS'))
  })

  it('cannot swap the ceremonies, nor the login that adds one', async () => {
    const { bearer, passkey } = await somebody()
    const creation = await offered(bearer)
    expect(seen(await send(passkey.get({ challenge: creation.challenge, rpId: 'localhost' })))).to.deep.equal(
      refusedPasskey,
    )
    const request = await asked()
    const swapped = { ...creation, challenge: request.challenge }
    const json = { response: authenticator().create(swapped) }
    expect(seen(await call(url, 'POST', '/users/me/factors/passkeys', { bearer, json }))).to.deep.equal(refusedFactor)
    const other = await somebody()
    const stolen = { response: authenticator().create(await offered(bearer)) }
    const answer = await call(url, 'POST', '/users/me/factors/passkeys', { bearer: other.bearer, json: stolen })
    expect(seen(answer)).to.deep.equal(refusedFactor)
  })

  it('are several of one user, each with a name, and a removed one is refused with its logins', async () => {
    const { bearer, passkey } = await somebody()
    const second = authenticator()
    const { body } = await add(bearer, second, {}, 'Key ring')
    expect(body).to.deep.include({ recovery_codes: [] })
    expect(seen(await add(bearer, second))).to.deep.equal(refused(400, 'FACTOR_ALREADY_EXISTS'))
    const change = (method: 'PATCH' | 'DELETE', id: string, json?: object) =>
      call(url, method, `/users/me/factors/passkeys/${id}`, { bearer, ...(json && { json }) })
    for (const name of ['Drawer', 'Drawer', 'Drawer', 'Desk', 'Drawer'])
      expect(seen(await change('PATCH', second.id, { name }))).to.deep.equal(empty(204))
    const newNames = () => service.events.flatMap(({ changes }) => changes?.passkey_renamed ?? [])
    await eventually('three events', () => newNames().length >= 3)
    expect(newNames(), 'no event for the same name').to.deep.equal(['Drawer', 'Desk', 'Drawer'])
    for (const name of ['', ' ', '\u00a0\t']) expect((await change('PATCH', second.id, { name })).status).to.equal(422)
    expect((await add(bearer, authenticator(), {}, ' ')).status).to.equal(422)
    const { passkeys } = (await call(url, 'GET', '/users/me/factors', { bearer })).body as {
      passkeys: { name: string }[] // safe: asserted by the next line
    }
    expect(passkeys.map(({ name }) => name)).to.deep.equal(['Telephone', 'Drawer'])
    const finder = tokenOf(await signIn(passkey))
    expect((await call(url, 'GET', '/users/me', { bearer: finder })).status).to.equal(200)
    expect(seen(await change('DELETE', passkey.id))).to.deep.equal(empty(204))
    expect((await call(url, 'GET', '/users/me', { bearer: finder })).status, 'a login by the passkey').to.equal(401)
    expect(seen(await change('DELETE', passkey.id))).to.deep.equal(notFound)
    expect(seen(await signIn(passkey))).to.deep.equal(refusedPasskey)
    expect((await signIn(second)).status).to.equal(200)
    expect(seen(await change('DELETE', second.id))).to.deep.equal(empty(204))
    const factors = await call(url, 'GET', '/users/me/factors', { bearer })
    expect(factors.body).to.deep.equal({
      totp: null,
      passkeys: [],
      recovery_codes: 0,
      reset_at: null,
      is_required: false,
    })
    expect(seen(await signIn(second))).to.deep.equal(refusedPasskey)
  })

  it('are refused if another first one was added since they were begun, because they have another handle', async () => {
    const email = anAddress()
    await register(url, email)
    const before = await logIn(url, email)
    const [first, second] = [await offered(before), await offered(before)]
    const send = (bearer: string, options: CreationOptions) => {
      const json = { response: authenticator().create(options) }
      return call(url, 'POST', '/users/me/factors/passkeys', { bearer, json })
    }
    const bearer = tokenOf(await send(before, first))
    expect(seen(await send(bearer, second))).to.deep.equal(refusedFactor)
    expect((await send(bearer, await offered(bearer))).status).to.equal(200)
  })

  it('stay beside an authenticator app, whose recovery codes go with the last factor', async () => {
    const user = await enrolled(url, anAddress(), now)
    const passkey = authenticator()
    expect((await add(user.bearer, passkey)).body).to.deep.include({ recovery_codes: [] })
    pass(30)
    const { challenge, methods } = await challenged(url, user.email)
    expect(methods).to.deep.equal(['totp', 'passkey', 'recovery_code'])
    expect((await prove(url, { challenge, code: codeOf(user.secret, now()) })).status).to.equal(200)
    const bearer = tokenOf(await signIn(passkey))
    expect((await call(url, 'DELETE', '/users/me/factors/totp', { bearer })).status).to.equal(204)
    const factors = await call(url, 'GET', '/users/me/factors', { bearer })
    expect(factors.body).to.deep.include({ totp: null, recovery_codes: 10 })
    await challenged(url, user.email)
  })

  it('need a login with the factor to be changed', async () => {
    const user = await enrolled(url, anAddress(), now)
    pass(901)
    expect((await call(url, 'POST', '/users/me/factors/passkeys/options', { bearer: user.bearer })).status).to.equal(
      403,
    )
  })

  it('are discoverable for authenticators of every level, and named after browser and system', async () => {
    const { bearer, passkey } = await somebody()
    const { excludeCredentials, authenticatorSelection } = await offered(bearer)
    expect(excludeCredentials).to.deep.equal([{ type: 'public-key', id: passkey.id, transports: ['internal'] }])
    const required = { residentKey: 'required', requireResidentKey: true, userVerification: 'required' }
    expect(authenticatorSelection).to.deep.equal(required)
    const unknown = authenticator().create(await offered(bearer)) as { response: object } // safe: made by the line
    const response = { ...unknown, response: { ...unknown.response, transports: null } }
    expect((await call(url, 'POST', '/users/me/factors/passkeys', { bearer, json: { response } })).status).to.equal(200)
    const { body } = await add(bearer, authenticator(), {}, null)
    expect(body).to.have.nested.property('passkey.name', 'Firefox, Linux')
  })

  it('of a deactivated user are refused as passkeys', async () => {
    const { id, passkey } = await somebody()
    const json = { is_active: false }
    const bearer = await superuserToken(url, {}, service.dataFolder)
    expect((await call(url, 'PATCH', `/users/${id}`, { bearer, json })).status).to.equal(200)
    expect(seen(await signIn(passkey))).to.deep.equal(refusedPasskey)
  })

  it('report a counter that went back, and go on', async () => {
    const { email, passkey } = await somebody()
    expect((await signIn(passkey, { counter: 7 })).status).to.equal(200)
    expect((await signIn(passkey, { counter: 8 })).status).to.equal(200)
    expect(service.events.some(({ changes }) => changes?.passkey_counter_went_back)).to.equal(false)
    expect((await signIn(passkey, { counter: 3 })).status).to.equal(200)
    await service.event(({ user, changes }) => user.email === email && changes?.passkey_counter_went_back === true)
    expect(service.logLines.filter((line) => line.includes('the counter of a passkey went back'))).to.have.length(1)
  })

  it('answer 422 to junk', async () => {
    const junk = { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: { clientDataJSON: 'AAAA' } }
    for (const response of [junk, {}, [], null, 'text', { ...junk, id: 'a b' }, { ...junk, response: {} }]) {
      expect(
        (await call(url, 'POST', '/auth/jwt/passkey', { json: { response } })).status,
        JSON.stringify(response),
      ).to.equal(422)
    }
    const { challenge } = await asked()
    const clientDataJSON = Buffer.from(JSON.stringify({ challenge })).toString('base64url')
    const { passkey } = await somebody()
    const broken = { ...junk, id: passkey.id, rawId: passkey.id, response: { clientDataJSON, userHandle: 'AAAA' } }
    expect(seen(await send(broken))).to.deep.equal(refusedPasskey)
  })
})

describe('passkeys elsewhere', () => {
  it('are not available on a page without TLS', async () => {
    const service = await startTestService({
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
      PORTCULLIS_HTTP__PUBLIC_URL: 'http://127.0.0.1:8000',
    })
    try {
      const answer = await call(service.url, 'POST', '/auth/jwt/passkey/options')
      expect(seen(answer)).to.deep.equal(refused(400, 'PASSKEYS_NOT_AVAILABLE'))
    } finally {
      await service.stop()
    }
  })
})
