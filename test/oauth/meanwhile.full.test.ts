// Changes of a user that are made while the provider is asked about them.
import { expect } from 'chai'
import { notFound, refused, seen, unauthorized } from '../support/http/answers.ts'
import type { Answer } from '../support/http/client.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { tokenOf, toLink } from '../support/providers/oauth-browser.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'

describe('while a provider answers about a user', () => {
  let site: AcmeSite
  let zeta: Acme
  let superuser: string

  before(async () => {
    zeta = await startAcme('zeta')
    site = await AcmeSite.start({}, zeta.env())
    superuser = await firstSuperuser(site.service)
  })
  after(async () => {
    await site?.stop()
    await zeta?.close()
  })

  const deactivate = (id: string) =>
    site.call('PATCH', `/users/${id}`, { bearer: superuser, json: { is_active: false } })
  const remove = (id: string) => site.call('DELETE', `/users/${id}`, { bearer: superuser })

  /** Somebody who signed up through acme and has no password. */
  async function somebody() {
    const person = aPerson()
    const bearer = tokenOf(await site.travel(person))
    return { person, bearer, id: await site.idOf(bearer) }
  }

  /** A journey in which the provider tells the profile only after `deed` is done; links to the user of `bearer`. */
  async function travelDuring(deed: () => Promise<unknown>, provider: Acme, profile: object, bearer?: string) {
    const visitor = site.browser()
    const way = bearer === undefined ? undefined : toLink(bearer)
    const back = provider.approve(await visitor.begin(provider, way), {})
    provider.instead('profile', (_asked, response) => {
      void deed().then(() => response.end(JSON.stringify(profile)))
    })
    try {
      return await visitor.comeBack(provider, back, way)
    } finally {
      provider.instead('profile', null)
    }
  }

  it('a deactivated user is not logged in', async () => {
    const { person, id } = await somebody()
    const answer = await travelDuring(() => deactivate(id), site.acme, person)
    expect(seen(answer)).to.deep.equal(refused(400, 'LOGIN_BAD_CREDENTIALS'))
  })

  it('a deleted user stays deleted, and the login creates a new user', async () => {
    const { person, bearer, id } = await somebody()
    const answer = await travelDuring(() => remove(id), site.acme, person)
    expect(await site.idOf(tokenOf(answer))).to.not.equal(id)
    expect(await site.statusOf(bearer)).to.equal(401)
  })

  for (const [title, deed] of [
    ['is made inactive', deactivate],
    ['is deleted', remove],
  ] as const) {
    it(`a user who ${title} gets no link, and the account may be linked to another`, async () => {
      const { bearer, id } = await somebody()
      const account = aPerson()
      expect(seen(await travelDuring(() => deed(id), zeta, account, bearer))).to.deep.equal(unauthorized)

      const other = await somebody()
      const answer = await site.browser().travel(zeta, account, toLink(other.bearer))
      expect(answer.status).to.equal(200)
    })
  }

  it('a removed link logs nobody in', async () => {
    const { person, bearer } = await somebody()
    await site.browser().travel(zeta, aPerson(), toLink(bearer))
    const [link] = await site.linksOf(bearer)
    const answer = await travelDuring(() => site.unlink(bearer, link?.id), site.acme, person)
    expect(seen(answer)).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
    expect(await site.linksOf(bearer)).to.have.length(1)
  })

  it('sixteen requests to remove both links of a user leave one link', async () => {
    const { bearer } = await somebody()
    await site.browser().travel(zeta, aPerson(), toLink(bearer))
    const links = await site.linksOf(bearer)
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, caller) => {
        const link = links[caller % 2]
        return site.unlink(bearer, link?.id, link?.oauth_name)
      }),
    )
    const count = (expected: object) =>
      answers.filter((answer: Answer) => JSON.stringify(seen(answer)) === JSON.stringify(expected)).length
    expect(answers.filter(({ status }) => status === 204)).to.have.length(1)
    expect(count(notFound)).to.equal(7)
    expect(count(refused(400, 'OAUTH_LAST_CREDENTIAL'))).to.equal(8)
    expect(await site.linksOf(bearer)).to.have.length(1)
  })
})
