import { expect } from 'chai'
import { refused, seen } from '../support/http/answers.ts'
import { type Answer, call, logIn } from '../support/http/client.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { Browser, prefixOf, tokenOf, toLink, toLogIn } from '../support/providers/oauth-browser.ts'
import { enrol } from '../support/scenes/enrol.ts'
import {
  type Deployment,
  needsDeployment,
  onMongo,
  onPostgres,
  onSqlite,
  onSqliteAndRedis,
} from '../support/services/deployments.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const callers = 32

interface Site {
  readonly acme: Acme
  readonly zeta: Acme
  readonly services: readonly TestService[]
  /** Bearers of two users. */
  readonly bearers: readonly [string, string]
  /** A browser of the caller with this number: callers are spread over the services. */
  browser(caller: number): Browser
  close(): Promise<void>
}

/** Two services on the same stores. */
async function openSite(deployment: Deployment): Promise<Site> {
  const [acme, zeta] = await Promise.all([startAcme('acme'), startAcme('zeta')])
  const env = {
    ...(await deployment.settings()),
    PORTCULLIS_HTTP__PUBLIC_URL: 'https://accounts.example',
    ...acme.env(),
    ...zeta.env(),
  }
  const first = await startTestService(env)
  const second = await startTestService(env, { dataFolder: first.dataFolder })
  const services = [first, second]
  const emails = [aPerson().email, aPerson().email] as const
  await enrol(env, first.dataFolder, emails)
  const url = (caller: number): string => services[caller % services.length]?.url ?? ''
  return {
    acme,
    zeta,
    services,
    bearers: [await logIn(url(0), emails[0]), await logIn(url(1), emails[1])],
    browser: (caller) => new Browser(url(caller)),
    async close() {
      await second.stop()
      await first.stop()
      await deployment.remove(env)
      await Promise.all([acme.close(), zeta.close()])
    },
  }
}

/** The answers to all callers at once, by their numbers. */
async function all(act: (caller: number) => Promise<Answer>): Promise<Answer[]> {
  return await Promise.all(Array.from({ length: callers }, (_, caller) => act(caller)))
}

const count = (answers: readonly Answer[], wanted: ReturnType<typeof seen>): number =>
  answers.filter((one) => JSON.stringify(seen(one)) === JSON.stringify(wanted)).length
const succeeded = (answers: readonly Answer[]): Answer[] => answers.filter(({ status }) => status === 200)

for (const deployment of [onSqlite, onSqliteAndRedis, onMongo, onPostgres]) {
  describe(`${callers} concurrent callers, on ${deployment.name} and two services`, () => {
    let site: Site

    before(async function () {
      await needsDeployment(this, deployment)
      site = await openSite(deployment)
    })
    after(async () => {
      await site?.close()
    })

    const idsOf = async (answers: readonly Answer[]): Promise<Set<string>> => {
      const url = site.services[0]?.url ?? ''
      const users = await Promise.all(
        answers.map((answer) => call(url, 'GET', '/users/me', { bearer: tokenOf(answer) })),
      )
      return new Set(users.map(({ body }) => (body as { id: string }).id))
    }

    for (const flow of ['login', 'link'] as const) {
      it(`make exactly one ${flow} with one state, and send the code to the provider once`, async () => {
        const { acme, browser, bearers } = site
        const way = flow === 'login' ? toLogIn : toLink(bearers[0])
        const visitor = browser(0)
        const back = acme.approve(await visitor.begin(acme, way), aPerson())
        const cookie = [...visitor.jar].map(([name, value]) => `${name}=${value}`).join('; ')
        const sent = { cookie, ...(way.bearer !== undefined && { bearer: way.bearer }) }
        const path = `${prefixOf(acme, way)}/callback?${new URLSearchParams(back)}`
        const answers = await all((caller) => call(browser(caller).url, 'GET', path, sent))
        expect(succeeded(answers)).to.have.length(1)
        expect(count(answers, refused(400, 'OAUTH_INVALID_STATE'))).to.equal(callers - 1)
        expect(acme.exchanges().filter(({ form }) => form.get('code') === back.code)).to.have.length(1)
      })
    }

    it('create one user with one new identity, and each of them logs in', async () => {
      const { acme, browser } = site
      const person = aPerson()
      const answers = await journeys(site, () => ({ acme, profile: person }))
      expect(succeeded(answers)).to.have.length(callers)
      expect((await idsOf(answers)).size).to.equal(1)
      const [first] = succeeded(answers)
      const list = await browser(0).get('/users/me/oauth-accounts', { bearer: tokenOf(first as Answer) })
      expect(list.body).to.have.length(1)
    })

    it('create one user with one new address from two providers', async () => {
      const { acme, zeta } = site
      const [one, other] = [aPerson(), aPerson()]
      const same = { ...other, email: one.email }
      const answers = await journeys(site, (caller) =>
        caller % 4 < 2 ? { acme, profile: one } : { acme: zeta, profile: same },
      )
      expect(succeeded(answers)).to.have.length(callers / 2)
      expect(count(answers, refused(400, 'OAUTH_USER_ALREADY_EXISTS'))).to.equal(callers / 2)
      expect((await idsOf(succeeded(answers))).size).to.equal(1)
    })

    it('link one account to exactly one of two users', async () => {
      const { acme, bearers, browser } = site
      const person = aPerson()
      const bearerOf = (caller: number) => bearers[caller % 4 < 2 ? 0 : 1]
      const answers = await journeys(site, (caller) => ({ acme, profile: person, bearer: bearerOf(caller) }))
      expect(succeeded(answers)).to.have.length(callers / 2)
      expect(count(answers, refused(400, 'OAUTH_ACCOUNT_ALREADY_LINKED'))).to.equal(callers / 2)
      const lists = await Promise.all(
        bearers.map(async (bearer) => (await browser(0).get('/users/me/oauth-accounts', { bearer })).body),
      )
      const owners = lists.filter((links) =>
        (links as { account_id: string }[]).some((one) => one.account_id === person.id),
      )
      expect(owners).to.have.length(1)
    })
  })
}

interface Plan {
  readonly acme: Acme
  readonly profile: Readonly<Record<string, unknown>>
  readonly bearer?: string
}

/** Callers who have all agreed at the provider come back from it all at once. */
async function journeys({ browser }: Site, plan: (caller: number) => Plan): Promise<Answer[]> {
  const ready = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const { acme, profile, bearer } = plan(caller)
      const way = bearer === undefined ? toLogIn : toLink(bearer)
      const visitor = browser(caller)
      const back = acme.approve(await visitor.begin(acme, way), profile)
      return () => visitor.comeBack(acme, back, way)
    }),
  )
  return await Promise.all(ready.map((comeBack) => comeBack()))
}
