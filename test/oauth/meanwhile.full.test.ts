// What happens to a user while they are on their way, or at two doors at once.
import { expect } from 'chai'
import { type Acme, aPerson, type Back, startAcme } from '../support/acme.ts'
import { notFound, refused, seen, unauthorized } from '../support/answers.ts'
import { type Answer, call } from '../support/client.ts'
import { Browser, tokenOf, toLink } from '../support/oauth-browser.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { superuserToken } from '../support/superuser.ts'

describe('while the provider is asked who came,', () => {
  let acme: Acme
  let zeta: Acme
  let service: TestService
  let superuser: string

  before(async () => {
    ;[acme, zeta] = await Promise.all([startAcme('acme'), startAcme('zeta')])
    const env = { ...acme.env(), ...zeta.env() }
    service = await startTestService(env)
    superuser = await superuserToken(service.url, env, service.dataFolder)
  })
  after(async () => {
    await service?.stop()
    await Promise.all([acme?.close(), zeta?.close()])
  })

  const browser = () => new Browser(service.url)
  const bySuperuser = (method: string, id: string, json?: object) =>
    call(service.url, method, `/users/${id}`, { bearer: superuser, ...(json && { json }) })
  const linksOf = async (bearer: string) =>
    (await call(service.url, 'GET', '/users/me/oauth-accounts', { bearer })).body as { id: string }[]

  /** Somebody who signed up through acme and has no password. */
  async function somebody() {
    const person = aPerson()
    const bearer = tokenOf(await browser().travel(acme, person))
    const { id } = (await call(service.url, 'GET', '/users/me', { bearer })).body as { id: string }
    return { person, bearer, id }
  }

  /** Comes back with what the provider sends only after `deed` is done. */
  async function comeBackAfter(deed: () => Promise<unknown>, provider: Acme, come: () => Promise<Answer>, who: object) {
    provider.instead('profile', (_asked, response) => {
      void deed().then(() => response.end(JSON.stringify(who)))
    })
    try {
      return await come()
    } finally {
      provider.instead('profile', null)
    }
  }

  it('a user who is made inactive is not logged in', async () => {
    const { person, id } = await somebody()
    const visitor = browser()
    const back = acme.approve(await visitor.begin(acme), person)
    const deactivate = () => bySuperuser('PATCH', id, { is_active: false })
    const answer = await comeBackAfter(deactivate, acme, () => visitor.comeBack(acme, back), person)
    expect(seen(answer)).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
  })

  it('a user who is deleted is not brought back: whoever came is somebody new', async () => {
    const { person, bearer, id } = await somebody()
    const visitor = browser()
    const back = acme.approve(await visitor.begin(acme), person)
    const answer = await comeBackAfter(
      () => bySuperuser('DELETE', id),
      acme,
      () => visitor.comeBack(acme, back),
      person,
    )
    const { id: now } = (await call(service.url, 'GET', '/users/me', { bearer: tokenOf(answer) })).body as {
      id: string
    }
    expect(now).to.not.equal(id)
    expect(seen(await call(service.url, 'GET', '/users/me', { bearer }))).to.deep.equal(unauthorized)
  })

  for (const [title, deed] of [
    ['is made inactive', (id: string) => bySuperuser('PATCH', id, { is_active: false })],
    ['is deleted', (id: string) => bySuperuser('DELETE', id)],
  ] as const) {
    it(`a user who ${title} gets no link, and the account stays anybody's`, async () => {
      const { bearer, id } = await somebody()
      const [visitor, account] = [browser(), aPerson()]
      const back: Back = zeta.approve(await visitor.begin(zeta, toLink(bearer)), account)
      const come = () => visitor.comeBack(zeta, back, toLink(bearer))
      expect(seen(await comeBackAfter(() => deed(id), zeta, come, account))).to.deep.equal(unauthorized)

      const other = await somebody()
      expect((await browser().travel(zeta, account, toLink(other.bearer))).status).to.equal(200)
    })
  }

  it('a link that is taken away logs nobody in', async () => {
    const { person, bearer } = await somebody()
    expect((await browser().travel(zeta, aPerson(), toLink(bearer))).status).to.equal(200)
    const visitor = browser()
    const back = acme.approve(await visitor.begin(acme), person)
    const unlink = async () => {
      const [link] = await linksOf(bearer)
      await call(service.url, 'DELETE', `/auth/associate/acme/${link?.id}`, { bearer })
    }
    const answer = await comeBackAfter(unlink, acme, () => visitor.comeBack(acme, back), person)
    expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
    expect(await linksOf(bearer)).to.have.length(1)
  })

  it('sixteen who unlink both of two links leave one, the last way in', async () => {
    const { bearer } = await somebody()
    expect((await browser().travel(zeta, aPerson(), toLink(bearer))).status).to.equal(200)
    const links = (await linksOf(bearer)) as { id: string; oauth_name: string }[]
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, caller) => {
        const link = links[caller % 2]
        return call(service.url, 'DELETE', `/auth/associate/${link?.oauth_name}/${link?.id}`, { bearer })
      }),
    )
    expect(answers.filter(({ status }) => status === 204)).to.have.length(1)
    expect(answers.filter((one) => JSON.stringify(seen(one)) === JSON.stringify(notFound))).to.have.length(7)
    const kept = refused(400, 'OAUTH_LAST_CREDENTIAL')
    expect(answers.filter((one) => JSON.stringify(seen(one)) === JSON.stringify(kept))).to.have.length(8)
    expect(await linksOf(bearer)).to.have.length(1)
  })
})
