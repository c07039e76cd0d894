import { expect } from 'chai'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { Browser, tokenOf, toLink } from '../support/providers/oauth-browser.ts'
import { needsDeployment, onMongo, onMongoAndRedis, onPostgres, onSqlite } from '../support/services/deployments.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { writtenBy } from '../support/stores/store-contents.ts'

for (const deployment of [onSqlite, onMongo, onMongoAndRedis, onPostgres]) {
  describe(`the OAuth records of a stolen store, on ${deployment.name}`, () => {
    let acme: Acme
    let service: TestService
    let env: Readonly<Record<string, string>> = {}
    let dump = ''
    const person = aPerson()
    const secrets = {
      states: [] as string[],
      browsers: [] as string[],
      codes: [] as string[],
      verifiers: [] as string[],
    }

    before(async function () {
      await needsDeployment(this, deployment)
      env = await deployment.settings()
      acme = await startAcme()
      service = await startTestService({ ...env, ...acme.env() })
      const bearer = tokenOf(await new Browser(service.url).travel(acme, person))
      await new Browser(service.url).travel(acme, aPerson(), toLink(bearer))
      await new Browser(service.url).travel(acme, person)
      const underWay = new Browser(service.url)
      for (const way of [undefined, toLink(bearer)]) {
        const { state = '', code = '' } = acme.approve(await underWay.begin(acme, way), aPerson())
        secrets.states.push(state)
        secrets.codes.push(code)
      }
      secrets.browsers.push(...underWay.jar.values())
      dump = await writtenBy(env, service.dataFolder)
      await underWay.comeBack(acme, { state: secrets.states[0] ?? '', code: secrets.codes[0] ?? '' })
      secrets.verifiers.push(acme.exchanges().at(-1)?.form.get('code_verifier') ?? '')
    })
    after(async () => {
      await service?.stop()
      await acme?.close()
      await deployment.remove(env)
    })

    it('contain no token of the provider, in any encoding', () => {
      expect(dump, 'the account itself').to.include(person.id)
      expect(acme.tokens).to.have.length.of.at.least(6)
      for (const token of acme.tokens) {
        for (const writing of [token, token.slice(0, -1), ...encodings(token)]) expect(dump).to.not.include(writing)
      }
    })

    it('contain no state, cookie and PKCE verifier of a journey', () => {
      expect(secrets.states.concat(secrets.browsers)).to.have.length(4)
      expect(secrets.verifiers[0]).to.have.length(43)
      for (const secret of Object.values(secrets).flat()) expect(dump).to.not.include(secret)
    })
  })
}

/** In hexadecimal, and a part of it in base64, wherever in a longer text it begins. */
function encodings(token: string): string[] {
  const bytes = Buffer.from(token)
  const base64 = [0, 1, 2].map((skip) => bytes.subarray(skip, skip + 3 * 8).toString('base64url'))
  return [...base64, bytes.toString('hex')]
}
