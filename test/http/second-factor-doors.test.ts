import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { anAddress, refused, seen } from '../support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { aPerson } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { appRequest, codeOf as codeOfApp, redeem, tokenOf } from '../support/scenes/app-sign-in.ts'
import { addApp, challenged, codeOf, enrolFactor, enrolled, prove } from '../support/scenes/factors.ts'

/** The part of an OpenAPI document that tells which operations log somebody in. */
interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Reply>> }>>>
  >
}
interface Reply {
  readonly description: string
  readonly content?: unknown
}

const givesCredential = ({ description, content }: Reply) =>
  /logged in|new credential/i.test(description) || JSON.stringify(content ?? '').includes('BearerToken')

describe('every way to log in', () => {
  let site: AcmeSite
  before(async () => {
    site = await AcmeSite.start(
      { ASSOCIATE_BY_EMAIL: 'true' },
      {
        PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
        PORTCULLIS_PAGES__ENABLED: 'true',
        PORTCULLIS_BACKENDS__JWT__STRATEGY__ALGORITHM: 'EdDSA',
        PORTCULLIS_APPS__NOTES__REDIRECT_URIS: 'https://notes.example/',
        PORTCULLIS_APPS__NOTES__BACKEND: 'jwt',
      },
    )
  })
  after(() => site.stop())

  it('is one of these operations, each of which is tried here', async () => {
    const { paths } = (await site.call('GET', '/openapi.json')).body as Document // safe: it is our document
    const doors = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { responses }]) =>
        Object.values(responses).some(givesCredential) ? [`${method.toUpperCase()} ${path}`] : [],
      ),
    )
    expect(doors.sort()).to.deep.equal([
      'GET /auth/acme/callback',
      'POST /account/token', // redeems the code of a login on the pages, which has asked for the factor
      'POST /auth/cookie/login',
      'POST /auth/cookie/passkey', // a passkey is both factors: passkeys.test.ts
      'POST /auth/cookie/second-factor',
      'POST /auth/jwt/login',
      'POST /auth/jwt/passkey',
      'POST /auth/jwt/second-factor',
      'POST /users/me/factors/passkeys', // these two renew the credential of a login: see the end of this file
      'POST /users/me/factors/totp/confirm',
    ])
  })

  it('asks for the second factor of a user who has one, and gives no credential before', async () => {
    const { url } = site.service
    const now = () => new Date(Date.now() + site.late)
    const { email, secret, bearer } = await enrolled(url, 'ada@example.com', now)
    await site.verify(email, { bearer })
    site.late += 30_000
    for (const backend of ['jwt', 'cookie']) {
      const form = { username: email, password: goodPassword }
      const answer = await call(url, 'POST', `/auth/${backend}/login`, { form })
      expect(answer.status).to.equal(400)
      for (const cookie of answer.headers.getSetCookie()) expect(cookie).to.match(/^__Host-browser=/)
      await challenged(url, email, backend)
    }

    const profile = aPerson({ email, email_verified: true })
    const arrival = await site.travel(profile)
    const { challenge } = (arrival.body as { detail: { challenge: string } }).detail // safe: asserted below
    expect(seen(arrival)).to.deep.equal(
      refused(400, { code: 'LOGIN_SECOND_FACTOR_REQUIRED', challenge, methods: ['totp', 'recovery_code'] }),
    )
    expect(arrival.text).to.not.match(/access_token/)
    const answer = await prove(url, { challenge, code: codeOf(secret, now()) })
    expect(answer.status).to.equal(200)
  })

  it('asks for nothing more after a sign-in at a provider that is trusted to have asked, if it vouches for the address', async () => {
    const trusted = await AcmeSite.start(
      { ASSOCIATE_BY_EMAIL: 'true', TRUSTS_SECOND_FACTOR: 'true' },
      { PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true' },
    )
    try {
      const { url } = trusted.service
      const { email, bearer } = await enrolled(url, 'ada@example.com', () => new Date(Date.now() + trusted.late))
      await trusted.verify(email, { bearer })
      const { status, body } = await trusted.travel(aPerson({ email, email_verified: true }))
      expect(status).to.equal(200)
      const token = decodeJwt((body as { access_token: string }).access_token) // safe: asserted by the next line
      expect(token).to.deep.include({ amr: ['provider', 'mfa'], acr: '2' })
      await challenged(url, email)

      const victim = 'lin@example.com'
      await register(url, victim)
      const thief = aPerson({ email: 'thief@example.com', email_verified: true })
      expect((await trusted.travel(thief, await logIn(url, victim))).status).to.equal(200)
      await enrolFactor(url, victim, () => new Date(Date.now() + trusted.late))
      const { body: asked } = await trusted.travel(thief)
      expect(asked).to.have.nested.property('detail.code', 'LOGIN_SECOND_FACTOR_REQUIRED')
    } finally {
      await trusted.stop()
    }
  })

  it('keeps a challenge from the callback of a provider, which takes any state', async () => {
    const { url } = site.service
    const now = () => new Date(Date.now() + site.late)
    const { email, secret } = await enrolled(url, 'lin@example.com', now)
    site.late += 30_000
    const { challenge } = await challenged(url, email)
    const state = JSON.stringify([challenge, 'jwt'])
    const query = new URLSearchParams({ state, code: 'any' })
    expect((await call(url, 'GET', `/auth/acme/callback?${query}`)).status).to.equal(400)
    expect((await prove(url, { challenge, code: codeOf(secret, now()) })).status).to.equal(200)
  })

  describe('the login that adds the first factor', () => {
    const now = () => new Date(Date.now() + site.late)
    const request = appRequest('notes', 'https://notes.example/')
    const somebody = async () => (await register(site.service.url, anAddress())).email
    const status = async (path: string, by: Sent) => (await call(site.service.url, 'GET', path, by)).status

    it('gets a new cookie at level 2, and a copy of the former one ends', async () => {
      const { url } = site.service
      const cookie = await logInByCookie(url, await somebody())
      const early = await codeOfApp(url, cookie, request)
      const { login } = await addApp(url, { cookie }, now)
      expect(await status('/users/me', { cookie })).to.equal(401)
      expect(await status('/users/me?level=2', login)).to.equal(200)
      const listed = (await call(url, 'GET', '/users/me/sessions', login)).body as object[] // safe: asserted
      expect(listed).to.have.lengthOf(1)
      expect(listed[0]).to.deep.include({ is_current: true, methods: ['pwd', 'mfa'], level: 2 })
      expect((await redeem(url, early, request)).status, 'a code of before').to.equal(400)
      const code = await codeOfApp(url, login.cookie ?? '', request)
      expect(decodeJwt(tokenOf(await redeem(url, code, request))).amr).to.include('mfa')
    })

    for (const [whose, client, begin] of [
      ['a bearer token', 'jwt', async (email: string) => await logIn(site.service.url, email)],
      [
        'the token of an app',
        'notes',
        async (email: string) => {
          const { url } = site.service
          return tokenOf(await redeem(url, await codeOfApp(url, await logInByCookie(url, email), request), request))
        },
      ],
    ] as const) {
      it(`gets ${whose} at level 2 with the same sid, and a copy of the former one ends`, async () => {
        const { url } = site.service
        const bearer = await begin(await somebody())
        const { login } = await addApp(url, { bearer }, now)
        expect(await status('/users/me', { bearer })).to.equal(401)
        expect(await status('/users/me?level=2', login)).to.equal(200)
        const { sid, auth_time, jti } = decodeJwt(bearer)
        const claims = decodeJwt(login.bearer ?? '')
        expect(claims).to.deep.include({ sid, auth_time, amr: ['pwd', 'mfa'], acr: '2', client_id: client })
        expect(claims.jti).to.not.equal(jti)
      })
    }
  })
})
