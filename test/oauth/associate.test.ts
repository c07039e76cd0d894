import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { type Acme, aPerson, startAcme } from '../support/acme.ts'
import { empty, notFound, refused, seen, unauthorized } from '../support/answers.ts'
import { type Answer, call, goodPassword, logIn } from '../support/client.ts'
import { enrol } from '../support/enrol.ts'
import { Browser, tokenOf, toLink } from '../support/oauth-browser.ts'
import { resetToken } from '../support/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/service.ts'

const frontEnd = 'http://localhost:5173'
const lastCredential = refused(400, 'OAUTH_LAST_CREDENTIAL')
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

interface Link {
  readonly id: string
  readonly oauth_name: string
  readonly access_token: string
  readonly expires_at: string | null
}

describe('an account at a provider', () => {
  let acme: Acme // as everything is by default
  let zeta: Acme // with pages to go on to
  let service: TestService
  let emails: string[] = []

  before(async () => {
    ;[acme, zeta] = await Promise.all([startAcme('acme'), startAcme('zeta')])
    const apple = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    service = await startTestService({
      PORTCULLIS_HTTP__ALLOWED_ORIGINS: frontEnd,
      ...acme.env({ REDIRECT_URL_ASSOCIATE: `${frontEnd}/linked-by-fetch` }),
      ...zeta.env({
        BACKEND: 'cookie',
        REDIRECTS__LINKED: `${frontEnd}/linked`,
        REDIRECTS__FAILURE: `${frontEnd}/sorry`,
      }),
      PORTCULLIS_PROVIDERS__APPLE__KIND: 'apple',
      PORTCULLIS_PROVIDERS__APPLE__CLIENT_ID: 'com.example.web',
      PORTCULLIS_PROVIDERS__APPLE__TEAM_ID: 'ABCDE12345',
      PORTCULLIS_PROVIDERS__APPLE__KEY_ID: 'ABCDE12345',
      PORTCULLIS_PROVIDERS__APPLE__PRIVATE_KEY: apple.export({ type: 'pkcs8', format: 'pem' }).toString(),
    })
    emails = Array.from({ length: 32 }, () => aPerson().email)
    await enrol({}, service.dataFolder, emails)
  })
  after(async () => {
    await service?.stop()
    await Promise.all([acme?.close(), zeta?.close()])
  })

  const browser = () => new Browser(service.url)
  /** Somebody with a password, who is logged in. */
  const somebody = async () => {
    const email = emails.pop() ?? ''
    return { email, bearer: await logIn(service.url, email) }
  }
  const linksOf = ({ body }: Answer): readonly Link[] => (body as { oauth_accounts: Link[] }).oauth_accounts
  const listed = (bearer: string) => call(service.url, 'GET', '/users/me/oauth-accounts', { bearer })
  const unlink = (bearer: string, id: string | undefined, provider = 'acme') =>
    call(service.url, 'DELETE', `/auth/associate/${provider}/${id}`, { bearer })

  describe('is linked', () => {
    it('to the user of the session, with all of its fields', async () => {
      const { email, bearer } = await somebody()
      const person = aPerson()
      const before = Math.floor(Date.now() / 1000)
      const answer = await browser().travel(acme, person, toLink(bearer))
      expect(answer.status).to.equal(200)
      const { oauth_accounts: links, ...user } = answer.body as { oauth_accounts: Link[] }
      expect(Object.keys(user)).to.deep.equal(['id', 'email', 'is_active', 'is_superuser', 'is_verified'])
      expect(user).to.deep.include({ email, is_active: true, is_superuser: false, is_verified: false })
      const [{ id = '', expires_at = '', ...link } = {}, ...others] = links
      expect(others).to.deep.equal([])
      expect(id).to.match(uuid)
      expect(Number(expires_at)).to.be.within(before + 3599, before + 3660)
      expect(link).to.deep.equal({
        oauth_name: 'acme',
        access_token: acme.tokens.filter((token) => token.includes('access')).at(-1),
        account_id: person.id,
        account_email: person.email,
      })
    })

    it('without an expiry where the provider names none', async () => {
      const { bearer } = await somebody()
      acme.token.expires_in = undefined
      const answer = await browser().travel(acme, aPerson(), toLink(bearer))
      acme.token.expires_in = 3600
      expect(linksOf(answer)[0]?.expires_at).to.equal(null)
    })

    it('once, however often, with the newest token', async () => {
      const { bearer } = await somebody()
      const person = aPerson()
      const [first] = linksOf(await browser().travel(acme, person, toLink(bearer)))
      const again = linksOf(await browser().travel(acme, person, toLink(bearer)))
      expect(again).to.have.length(1)
      expect(again[0]?.id).to.equal(first?.id)
      expect(again[0]?.access_token).to.not.equal(first?.access_token)
    })

    it('beside others, of this provider and of another', async () => {
      const { bearer } = await somebody()
      await browser().travel(acme, aPerson(), toLink(bearer))
      await browser().travel(acme, aPerson(), toLink(bearer))
      await browser().travel(zeta, aPerson(), toLink(bearer))
      const names = ((await listed(bearer)).body as Link[]).map(({ oauth_name }) => oauth_name)
      expect(names).to.deep.equal(['acme', 'acme', 'zeta'])
    })

    it('and logs its user in from then on', async () => {
      const { email, bearer } = await somebody()
      const person = aPerson()
      await browser().travel(acme, person, toLink(bearer))
      const token = tokenOf(await browser().travel(acme, person))
      const me = await call(service.url, 'GET', '/users/me', { bearer: token })
      expect(me.body).to.deep.include({ email })
    })

    it('to one user only, apart from an account of the same name at another provider', async () => {
      const [one, other] = [await somebody(), await somebody()]
      const person = aPerson()
      await browser().travel(acme, person, toLink(one.bearer))
      const answer = await browser().travel(acme, person, toLink(other.bearer))
      expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_ACCOUNT_ALREADY_LINKED'))
      expect((await listed(one.bearer)).body).to.have.length(1)
      expect((await listed(other.bearer)).body).to.deep.equal([])
      expect((await browser().travel(zeta, person, toLink(other.bearer))).status).to.equal(303)
      expect((await listed(other.bearer)).body).to.have.length(1)
    })

    it('only with an address, and only within a session', async () => {
      const { bearer } = await somebody()
      const answer = await browser().travel(acme, aPerson({ email: undefined }), toLink(bearer))
      expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_NOT_AVAILABLE_EMAIL'))
      for (const path of ['authorize', 'callback?code=x&state=y']) {
        const asked = await call(service.url, 'GET', `/auth/associate/acme/${path}`)
        expect(seen(asked)).to.deep.equal(unauthorized)
        expect(asked.headers.getSetCookie()).to.deep.equal([])
      }
    })

    it('to no user who logs out while the provider is asked', async () => {
      const { email, bearer } = await somebody()
      const [visitor, person] = [browser(), aPerson()]
      const back = acme.approve(await visitor.begin(acme, toLink(bearer)), person)
      acme.instead('profile', (_asked, response) => {
        const loggedOut = call(service.url, 'POST', '/auth/jwt/logout', { bearer })
        void loggedOut.then(() => response.end(JSON.stringify(person)))
      })
      expect(seen(await visitor.comeBack(acme, back, toLink(bearer)))).to.deep.equal(unauthorized)
      acme.instead('profile', null)
      expect((await listed(await logIn(service.url, email))).body).to.deep.equal([])
    })

    it('from a page of the front end that calls our callback with its bearer', async () => {
      const { bearer } = await somebody()
      const visitor = browser()
      const url = await visitor.begin(acme, toLink(bearer))
      expect(new URL(url).searchParams.get('redirect_uri')).to.equal(`${frontEnd}/linked-by-fetch`)
      const back = acme.approve(url, aPerson())
      const path = `/auth/associate/acme/callback?${new URLSearchParams(back)}`
      const answer = await visitor.get(path, { bearer, headers: { Origin: frontEnd } })
      expect(answer.status).to.equal(200)
      expect(answer.headers.get('Access-Control-Allow-Origin')).to.equal(frontEnd)
    })

    it('by a browser that carries a session, and is sent on to the pages set up for it', async () => {
      const visitor = browser()
      await visitor.travel(zeta, aPerson())
      const answer = await visitor.travel(zeta, aPerson(), toLink())
      expect([answer.status, answer.headers.get('Location')]).to.deep.equal([303, `${frontEnd}/linked`])
      expect([...visitor.jar.keys()]).to.deep.equal(['__Host-session'])
      expect((await visitor.get('/users/me/oauth-accounts')).body).to.have.length(2)

      const failed = await visitor.comeBack(zeta, { code: 'x', state: 'y' }, toLink())
      expect([failed.status, failed.headers.get('Location')]).to.deep.equal([
        303,
        `${frontEnd}/sorry?error=OAUTH_INVALID_STATE`,
      ])
    })
  })

  it('is listed without its tokens', async () => {
    const { bearer } = await somebody()
    const answer = await browser().travel(acme, aPerson(), toLink(bearer))
    const expected = linksOf(answer).map(({ access_token: _, ...link }) => link)
    const list = await listed(bearer)
    expect(list.body).to.deep.equal(expected)
    for (const token of acme.tokens) expect(list.text).to.not.include(token)
    expect((await call(service.url, 'GET', '/users/me/oauth-accounts')).status).to.equal(401)
  })

  describe('is unlinked', () => {
    it('by its id, and may then be linked to somebody else', async () => {
      const [one, other] = [await somebody(), await somebody()]
      const person = aPerson()
      const [link] = linksOf(await browser().travel(acme, person, toLink(one.bearer)))
      expect(seen(await unlink(one.bearer, link?.id))).to.deep.equal(empty(204))
      expect((await listed(one.bearer)).body).to.deep.equal([])
      expect(seen(await unlink(one.bearer, link?.id))).to.deep.equal(notFound)
      expect((await browser().travel(acme, person, toLink(other.bearer))).status).to.equal(200)
    })

    it('by no other user, at no other provider, and by no malformed id', async () => {
      const [one, other] = [await somebody(), await somebody()]
      const [link] = linksOf(await browser().travel(acme, aPerson(), toLink(one.bearer)))
      expect(seen(await unlink(other.bearer, link?.id))).to.deep.equal(notFound)
      expect(seen(await unlink(one.bearer, link?.id, 'zeta'))).to.deep.equal(notFound)
      for (const id of ['callback', '%00', '__proto__']) {
        expect(seen(await unlink(one.bearer, id)), id).to.deep.equal(notFound)
      }
      const anonymous = await call(service.url, 'DELETE', `/auth/associate/acme/${link?.id}`)
      expect(seen(anonymous)).to.deep.equal(unauthorized)
      expect((await listed(one.bearer)).body).to.have.length(1)
    })

    it('never when nothing else logs its user in', async () => {
      const bearer = tokenOf(await browser().travel(acme, aPerson()))
      const [only] = (await listed(bearer)).body as Link[]
      expect(seen(await unlink(bearer, only?.id))).to.deep.equal(lastCredential)

      await browser().travel(zeta, aPerson(), toLink(bearer))
      expect(seen(await unlink(bearer, only?.id))).to.deep.equal(empty(204))
      const [last] = (await listed(bearer)).body as Link[]
      expect(seen(await unlink(bearer, last?.id, 'zeta'))).to.deep.equal(lastCredential)
    })

    it('once its user has a password', async () => {
      const person = aPerson()
      const bearer = tokenOf(await browser().travel(acme, person))
      const token = await resetToken(service, person.email)
      await call(service.url, 'POST', '/auth/reset-password', { json: { token, password: goodPassword } })
      expect((await listed(bearer)).status, 'the older session').to.equal(401)
      const renewed = await logIn(service.url, person.email)
      const [only] = (await listed(renewed)).body as Link[]
      expect(seen(await unlink(renewed, only?.id))).to.deep.equal(empty(204))
    })
  })

  it('of a provider that is disabled neither logs in nor counts as a credential', async () => {
    const left = await startAcme('left')
    const env = { ...acme.env(), ...left.env() }
    const first = await startTestService(env)
    try {
      const bearer = tokenOf(await new Browser(first.url).travel(acme, aPerson()))
      await new Browser(first.url).travel(left, aPerson(), toLink(bearer))
      const disabled = { ...env, ...left.env({ ENABLED: 'false' }) }
      const second = await startTestService(disabled, { dataFolder: first.dataFolder })
      try {
        const { body } = await call(second.url, 'GET', '/users/me/oauth-accounts', { bearer })
        const path = `/auth/associate/acme/${(body as Link[])[0]?.id}`
        expect(seen(await call(second.url, 'DELETE', path, { bearer }))).to.deep.equal(lastCredential)
        expect(seen(await call(second.url, 'GET', '/auth/left/authorize'))).to.deep.equal(notFound)
      } finally {
        await second.stop()
      }
    } finally {
      await first.stop()
      await left.close()
    }
  })

  describe('at a provider that posts its callback', () => {
    const form = { code: 'a code', state: 'a state', user: '{"name":"x"}', id_token: 'not ours to believe' }
    for (const prefix of ['/auth/apple', '/auth/associate/apple']) {
      it(`leads on to the GET one, at ${prefix}`, async () => {
        const headers = { Origin: 'https://appleid.apple.com', 'Sec-Fetch-Site': 'cross-site' }
        const answer = await call(service.url, 'POST', `${prefix}/callback`, { form, headers })
        expect(seen(answer)).to.deep.equal(empty(303))
        const location = new URL(answer.headers.get('Location') ?? '', `${service.url}${prefix}/callback`)
        expect(location.href).to.equal(`${service.url}${prefix}/callback?code=a+code&state=a+state`)
      })
    }

    it('is 405 at other providers', async () => {
      const answer = await call(service.url, 'POST', '/auth/acme/callback', { form })
      expect(seen(answer)).to.deep.equal(refused(405, 'Method Not Allowed'))
      expect(answer.headers.get('Allow')).to.equal('GET')
    })
  })
})
