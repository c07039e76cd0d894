// Callbacks with the state of somebody else: RFC 9700 section 4, RFC 9207, CVE-2025-68481.
import { expect } from 'chai'
import { refused, seen } from '../support/http/answers.ts'
import { type Answer, call, logIn } from '../support/http/client.ts'
import { type Acme, aPerson, type Back, startAcme } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { type Browser, logsIn, toLink, toLogIn, type Way } from '../support/providers/oauth-browser.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { needsDeployment, onMongo, onSqlite, onSqliteAndRedis } from '../support/services/deployments.ts'

const invalidState = refused(400, 'OAUTH_INVALID_STATE')

interface Scene {
  readonly site: AcmeSite
  readonly zeta: Acme
  /** Bearers of two users. */
  readonly bearers: readonly [string, string]
}

/** How many codes were exchanged, at either provider. */
const exchangesOf = ({ site, zeta }: Scene) => site.acme.exchanges().length + zeta.exchanges().length

/** The answers to an attack, and the number of codes that were rightly exchanged before it. */
interface Attempt {
  readonly answers: readonly Answer[]
  readonly after?: number
}

/** Somebody who is at the provider and has agreed. */
async function underWay({ site }: Scene, way: Way = toLogIn): Promise<{ visitor: Browser; back: Back }> {
  const visitor = site.browser()
  return { visitor, back: site.acme.approve(await visitor.begin(site.acme, way), aPerson()) }
}

const attacks: Readonly<Record<string, (scene: Scene) => Promise<Attempt>>> = {
  async 'in another browser'(scene) {
    const { back } = await underWay(scene)
    return { answers: [await scene.site.browser().comeBack(scene.site.acme, back)] }
  },

  async 'in another browser that is under way itself'(scene) {
    const { back } = await underWay(scene)
    const { visitor } = await underWay(scene)
    return { answers: [await visitor.comeBack(scene.site.acme, back)] }
  },

  async "with the cookie of the browser's other journey"(scene) {
    const { acme } = scene.site
    const { visitor, back } = await underWay(scene)
    const [right] = visitor.jar.keys()
    await visitor.begin(acme)
    const wrong = [...visitor.jar.values()].at(-1)
    visitor.jar.set(right ?? '', wrong ?? '')
    return { answers: [await visitor.comeBack(acme, back)] }
  },

  async 'a second time'(scene) {
    const { acme } = scene.site
    const { visitor, back } = await underWay(scene)
    const cookies = [...visitor.jar]
    expect((await visitor.comeBack(acme, back)).status).to.equal(200)
    for (const [name, value] of cookies) visitor.jar.set(name, value)
    const after = exchangesOf(scene)
    const { code } = acme.approve(await visitor.begin(acme), aPerson())
    return { after, answers: [await visitor.comeBack(acme, { ...back, code: code ?? '' })] }
  },

  async 'once ten minutes are over'(scene) {
    const { visitor, back } = await underWay(scene)
    scene.site.late = 601_000
    const answers = [await visitor.comeBack(scene.site.acme, back)]
    scene.site.late = 0
    return { answers }
  },

  async 'at another provider'(scene) {
    const { visitor, back } = await underWay(scene)
    return { answers: [await visitor.comeBack(scene.zeta, back)] }
  },

  async 'for linking when it was made to log in'(scene) {
    const { visitor, back } = await underWay(scene)
    return { answers: [await visitor.comeBack(scene.site.acme, back, toLink(scene.bearers[0]))] }
  },

  async 'for logging in when it was made to link'(scene) {
    const { visitor, back } = await underWay(scene, toLink(scene.bearers[0]))
    return { answers: [await visitor.comeBack(scene.site.acme, back)] }
  },

  async 'to another user'(scene) {
    const { visitor, back } = await underWay(scene, toLink(scene.bearers[0]))
    return { answers: [await visitor.comeBack(scene.site.acme, back, toLink(scene.bearers[1]))] }
  },

  async 'when it is tampered with'(scene) {
    const { visitor, back } = await underWay(scene)
    const { state = '' } = back
    const flipped = `${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}`
    const forged = [flipped, `${state} `, `${state}=`, state.slice(0, 16), '{"$ne":1}', '*']
    const answers: Answer[] = []
    for (const one of forged) answers.push(await visitor.comeBack(scene.site.acme, { ...back, state: one }))
    return { answers }
  },

  async 'when it is missing, empty or there twice'(scene) {
    const { visitor, back } = await underWay(scene)
    const { state = '', code = '' } = back
    const answers: Answer[] = []
    for (const query of ['', '&state=', `&state=${state}&state=${state}`, `&state=x&state=${state}`]) {
      answers.push(await visitor.get(`/auth/acme/callback?code=${code}${query}`))
    }
    return { answers }
  },

  async 'when somebody else has put a cookie beside or in place of its own'(scene) {
    const answers: Answer[] = []
    const planted = 'A'.repeat(43)
    for (const plant of [
      (name: string, value: string) => [`${name}=${planted}`, `${name}=${value}`],
      (name: string, value: string) => [`${name}=${value}`, `${name}=${value}`],
      (name: string, value: string) => [`${name.replace('__Host-', '')}=${value}`],
      (name: string) => [`${name}=${planted}`],
      (name: string) => [`${name}=`],
    ]) {
      const { visitor, back } = await underWay(scene)
      const [[name = '', value = ''] = []] = visitor.jar
      const cookie = plant(name, value).join('; ')
      const path = `/auth/acme/callback?${new URLSearchParams(back)}`
      answers.push(await call(visitor.url, 'GET', path, { cookie }))
    }
    return { answers }
  },
}

for (const deployment of [onSqlite, onSqliteAndRedis, onMongo]) {
  describe(`a state kept on ${deployment.name}`, () => {
    let scene: Scene
    let env: Readonly<Record<string, string>> = {}

    before(async function () {
      await needsDeployment(this, deployment)
      env = await deployment.settings()
      const zeta = await startAcme('zeta')
      const site = await AcmeSite.start({}, { ...env, ...zeta.env() })
      const emails = [aPerson().email, aPerson().email] as const
      await enrol(env, site.service.dataFolder, emails)
      const { url } = site.service
      scene = { site, zeta, bearers: [await logIn(url, emails[0]), await logIn(url, emails[1])] }
    })
    after(async () => {
      await scene?.site.stop()
      await scene?.zeta.close()
      await deployment.remove(env)
    })

    for (const [title, attack] of Object.entries(attacks)) {
      it(`is refused ${title}`, async () => {
        const { after: before = exchangesOf(scene), answers } = await attack(scene)
        expect(answers).to.not.have.length(0)
        for (const answer of answers) {
          expect(seen(answer)).to.deep.equal(invalidState)
          expect(logsIn(answer)).to.equal(false)
        }
        expect(exchangesOf(scene), 'requests at the token endpoints').to.equal(before)
      })
    }

    it('is valid for ten minutes, and a HEAD request does not use it up', async () => {
      const { acme } = scene.site
      const { visitor, back } = await underWay(scene)
      const head = await visitor.send('HEAD', `/auth/acme/callback?${new URLSearchParams(back)}`)
      expect([head.status, head.headers.get('Allow')]).to.deep.equal([405, 'GET'])
      scene.site.late = 540_000
      expect((await visitor.comeBack(acme, back)).status).to.equal(200)
      scene.site.late = 0
    })

    it('is separate for each of two tabs', async () => {
      const { acme } = scene.site
      const { zeta } = scene
      const visitor = scene.site.browser()
      const [first, second, third] = [
        acme.approve(await visitor.begin(acme), aPerson()),
        acme.approve(await visitor.begin(acme), aPerson()),
        zeta.approve(await visitor.begin(zeta), aPerson()),
      ]
      expect((await visitor.comeBack(acme, second)).status).to.equal(200)
      expect((await visitor.comeBack(zeta, third)).status).to.equal(200)
      expect((await visitor.comeBack(acme, first)).status).to.equal(200)
      expect([...visitor.jar.keys()]).to.deep.equal(['__Host-device'])
    })

    it('sets at most eight cookies in one browser', async () => {
      const visitor = scene.site.browser()
      for (let count = 0; count < 20; count++) await visitor.begin(scene.site.acme)
      expect(visitor.jar.size).to.be.within(1, 8)
    })
  })
}

describe('a journey that an attacker began', () => {
  let site: AcmeSite
  before(async () => {
    site = await AcmeSite.start({ BACKEND: 'cookie' }, { PORTCULLIS_STORES__USERS__KIND: 'memory' })
  })
  after(() => site?.stop())

  it('does not change the session of the victim', async () => {
    const victim = site.browser()
    await victim.travel(site.acme, aPerson())
    const session = victim.jar.get('__Host-session')
    await victim.begin(site.acme)
    const lure = site.acme.approve(await site.browser().begin(site.acme), aPerson())
    expect(seen(await victim.comeBack(site.acme, lure))).to.deep.equal(invalidState)
    expect(victim.jar.get('__Host-session')).to.equal(session)
  })

  it('links no account to the victim', async () => {
    const attacker = site.browser()
    await attacker.travel(site.acme, aPerson())
    const victim = site.browser()
    await victim.travel(site.acme, aPerson())
    const back = site.acme.approve(await attacker.begin(site.acme, toLink()), aPerson())
    const before = site.acme.exchanges().length
    expect(seen(await victim.comeBack(site.acme, back, toLink()))).to.deep.equal(invalidState)
    expect(site.acme.exchanges()).to.have.length(before)
    expect((await victim.get('/users/me/oauth-accounts')).body).to.have.length(1)
  })
})
