import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { empty, notFound, refused, seen, unauthorized } from '../support/http/answers.ts'
import { type Answer, call, logIn } from '../support/http/client.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { AcmeSite, type Link } from '../support/providers/acme-site.ts'
import { tokenOf, toLink } from '../support/providers/oauth-browser.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { startTestService } from '../support/services/service.ts'

const frontEnd = 'http://localhost:5173'
const lastCredential = refused(400, 'OAUTH_LAST_CREDENTIAL')
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

interface LinkWithToken extends Link {
  readonly access_token: string
  readonly expires_at: string | null
}

describe('accounts at a provider', () => {
  let site: AcmeSite
  let zeta: Acme // with pages to go on to
  let emails: string[] = []

  before(async () => {
    zeta = await startAcme('zeta')
    const pages = { REDIRECTS__LINKED: `${frontEnd}/linked`, REDIRECTS__FAILURE: `${frontEnd}/sorry` }
    const apple = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    site = await AcmeSite.start(
      {},
      {
        ...zeta.env({ BACKEND: 'cookie', ...pages }),
        PORTCULLIS_PROVIDERS__APPLE__KIND: 'apple',
        PORTCULLIS_PROVIDERS__APPLE__CLIENT_ID: 'com.example.web',
        PORTCULLIS_PROVIDERS__APPLE__TEAM_ID: 'ABCDE12345',
        PORTCULLIS_PROVIDERS__APPLE__KEY_ID: 'ABCDE12345',
        PORTCULLIS_PROVIDERS__APPLE__PRIVATE_KEY: apple.export({ type: 'pkcs8', format: 'pem' }).toString(),
      },
    )
    emails = Array.from({ length: 32 }, () => aPerson().email)
    await enrol({}, site.service.dataFolder, emails)
  })
  after(async () => {
    await site?.stop()
    await zeta?.close()
  })

  /** Somebody with a password, who is logged in. */
  const somebody = async () => {
    const email = emails.pop() ?? ''
    return { email, bearer: await logIn(site.service.url, email) }
  }
  const linksIn = ({ body }: Answer): readonly LinkWithToken[] =>
    (body as { oauth_accounts: LinkWithToken[] }).oauth_accounts

  describe('linking', () => {
    it('stores every field of the account for the user of the session', async () => {
      const { email, bearer } = await somebody()
      const person = aPerson()
      const before = Math.floor(Date.now() / 1000)
      const answer = await site.travel(person, bearer)
      expect(answer.status).to.equal(200)
      const { oauth_accounts: links, ...user } = answer.body as { oauth_accounts: LinkWithToken[] }
      expect(Object.keys(user)).to.deep.equal(['id', 'email', 'is_active', 'is_superuser', 'is_verified'])
      expect(user).to.deep.include({ email, is_active: true, is_superuser: false, is_verified: false })
      const [{ id = '', expires_at = '', ...link } = {}, ...others] = links
      expect(others).to.deep.equal([])
      expect(id).to.match(uuid)
      expect(Number(expires_at)).to.be.within(before + 3599, before + 3660)
      expect(link).to.deep.equal({
        oauth_name: 'acme',
        access_token: site.acme.tokens.filter((token) => token.includes('access')).at(-1),
        account_id: person.id,
        account_email: person.email,
      })
    })

    it('stores one link for one account, with the newest token', async () => {
      const { bearer } = await somebody()
      const person = aPerson()
      const [first] = linksIn(await site.travel(person, bearer))
      const again = linksIn(await site.travel(person, bearer))
      expect(again).to.have.length(1)
      expect(again[0]?.id).to.equal(first?.id)
      expect(again[0]?.access_token).to.not.equal(first?.access_token)
    })

    it('adds to the links of this provider and of others', async () => {
      const { bearer } = await somebody()
      await site.travel(aPerson(), bearer)
      await site.travel(aPerson(), bearer)
      await site.browser().travel(zeta, aPerson(), toLink(bearer))
      const names = (await site.linksOf(bearer)).map(({ oauth_name }) => oauth_name)
      expect(names).to.deep.equal(['acme', 'acme', 'zeta'])
    })

    it('refuses an account that another user has, but not the same id at another provider', async () => {
      const [one, other] = [await somebody(), await somebody()]
      const person = aPerson()
      await site.travel(person, one.bearer)
      const answer = await site.travel(person, other.bearer)
      expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_ACCOUNT_ALREADY_LINKED'))
      expect(await site.linksOf(one.bearer)).to.have.length(1)
      expect(await site.linksOf(other.bearer)).to.deep.equal([])
      expect((await site.browser().travel(zeta, person, toLink(other.bearer))).status).to.equal(303)
      expect(await site.linksOf(other.bearer)).to.have.length(1)
    })

    it('needs an address and a session', async () => {
      const { bearer } = await somebody()
      const answer = await site.travel(aPerson({ email: undefined }), bearer)
      expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_NOT_AVAILABLE_EMAIL'))
      for (const path of ['authorize', 'callback?code=x&state=y']) {
        const asked = await site.call('GET', `/auth/associate/acme/${path}`)
        expect(seen(asked)).to.deep.equal(unauthorized)
        expect(asked.headers.getSetCookie()).to.deep.equal([])
      }
    })

    it('fails if the user logs out before the provider answers', async () => {
      const { email, bearer } = await somebody()
      const [visitor, person] = [site.browser(), aPerson()]
      const back = site.acme.approve(await visitor.begin(site.acme, toLink(bearer)), person)
      site.acme.instead('profile', (_asked, response) => {
        const loggedOut = site.call('POST', '/auth/jwt/logout', { bearer })
        void loggedOut.then(() => response.end(JSON.stringify(person)))
      })
      expect(seen(await visitor.comeBack(site.acme, back, toLink(bearer)))).to.deep.equal(unauthorized)
      site.acme.instead('profile', null)
      expect(await site.linksOf(await logIn(site.service.url, email))).to.deep.equal([])
    })

    it('works with a session cookie, and redirects to the configured pages', async () => {
      const visitor = site.browser()
      await visitor.travel(zeta, aPerson())
      const answer = await visitor.travel(zeta, aPerson(), toLink())
      expect([answer.status, answer.headers.get('Location')]).to.deep.equal([303, `${frontEnd}/linked`])
      expect([...visitor.jar.keys()]).to.deep.equal(['__Host-session', '__Host-device'])
      expect((await visitor.get('/users/me/oauth-accounts')).body).to.have.length(2)

      const failed = await visitor.comeBack(zeta, { code: 'x', state: 'y' }, toLink())
      expect([failed.status, failed.headers.get('Location')]).to.deep.equal([
        303,
        `${frontEnd}/sorry?error=OAUTH_INVALID_STATE`,
      ])
    })
  })

  it('are listed without their tokens', async () => {
    const { bearer } = await somebody()
    const answer = await site.travel(aPerson(), bearer)
    const expected = linksIn(answer).map(({ access_token: _, ...link }) => link)
    const list = await site.call('GET', '/users/me/oauth-accounts', { bearer })
    expect(list.body).to.deep.equal(expected)
    for (const token of site.acme.tokens) expect(list.text).to.not.include(token)
    expect((await site.call('GET', '/users/me/oauth-accounts')).status).to.equal(401)
  })

  describe('unlinking', () => {
    it('removes a link by its id, and another user may link the account', async () => {
      const [one, other] = [await somebody(), await somebody()]
      const person = aPerson()
      const [link] = linksIn(await site.travel(person, one.bearer))
      expect(seen(await site.unlink(one.bearer, link?.id))).to.deep.equal(empty(204))
      expect(await site.linksOf(one.bearer)).to.deep.equal([])
      expect(seen(await site.unlink(one.bearer, link?.id))).to.deep.equal(notFound)
      expect((await site.travel(person, other.bearer)).status).to.equal(200)
    })

    it('refuses other users, other providers and malformed ids', async () => {
      const [one, other] = [await somebody(), await somebody()]
      const [link] = linksIn(await site.travel(aPerson(), one.bearer))
      expect(seen(await site.unlink(other.bearer, link?.id))).to.deep.equal(notFound)
      expect(seen(await site.unlink(one.bearer, link?.id, 'zeta'))).to.deep.equal(notFound)
      for (const id of ['callback', '%00', '__proto__']) {
        expect(seen(await site.unlink(one.bearer, id)), id).to.deep.equal(notFound)
      }
      const anonymous = await site.call('DELETE', `/auth/associate/acme/${link?.id}`)
      expect(seen(anonymous)).to.deep.equal(unauthorized)
      expect(await site.linksOf(one.bearer)).to.have.length(1)
    })

    it('refuses to remove the last credential of a user', async () => {
      const bearer = tokenOf(await site.travel(aPerson()))
      const [only] = await site.linksOf(bearer)
      expect(seen(await site.unlink(bearer, only?.id))).to.deep.equal(lastCredential)

      await site.browser().travel(zeta, aPerson(), toLink(bearer))
      expect(seen(await site.unlink(bearer, only?.id))).to.deep.equal(empty(204))
      const [last] = await site.linksOf(bearer)
      expect(seen(await site.unlink(bearer, last?.id, 'zeta'))).to.deep.equal(lastCredential)
    })

    it('removes the last link of a user who has a password', async () => {
      const person = aPerson()
      const bearer = tokenOf(await site.travel(person))
      const renewed = await site.takeOver(person.email)
      expect(await site.statusOf(bearer), 'the older session').to.equal(401)
      const [only] = await site.linksOf(renewed)
      expect(seen(await site.unlink(renewed, only?.id))).to.deep.equal(empty(204))
    })
  })

  it('of a disabled provider neither log in nor count as credentials', async () => {
    const left = await startAcme('left')
    const first = await AcmeSite.start({}, left.env())
    const env = { ...first.acme.env(), ...left.env({ ENABLED: 'false' }) }
    const second = await startTestService(env, { dataFolder: first.service.dataFolder })
    try {
      const bearer = tokenOf(await first.travel(aPerson()))
      await first.browser().travel(left, aPerson(), toLink(bearer))
      const [link] = await first.linksOf(bearer)
      const path = `/auth/associate/acme/${link?.id}`
      expect(seen(await call(second.url, 'DELETE', path, { bearer }))).to.deep.equal(lastCredential)
      expect(seen(await call(second.url, 'GET', '/auth/left/authorize'))).to.deep.equal(notFound)
    } finally {
      await second.stop()
      await first.stop()
      await left.close()
    }
  })

  describe('a provider that sends its callback by POST', () => {
    const form = { code: 'a code', state: 'a state', user: '{"name":"x"}', id_token: 'not ours to believe' }
    for (const prefix of ['/auth/apple', '/auth/associate/apple']) {
      it(`gets a redirect to the GET callback, at ${prefix}`, async () => {
        const headers = { Origin: 'https://appleid.apple.com', 'Sec-Fetch-Site': 'cross-site' }
        const answer = await site.call('POST', `${prefix}/callback`, { form, headers })
        expect(seen(answer)).to.deep.equal(empty(303))
        const location = new URL(answer.headers.get('Location') ?? '', `${site.service.url}${prefix}/callback`)
        expect(location.href).to.equal(`${site.service.url}${prefix}/callback?code=a+code&state=a+state`)
      })
    }

    it('is an exception: POST is 405 for other providers', async () => {
      const answer = await site.call('POST', '/auth/acme/callback', { form })
      expect(seen(answer)).to.deep.equal(refused(405, 'Method Not Allowed'))
      expect(answer.headers.get('Allow')).to.equal('GET')
    })
  })
})
