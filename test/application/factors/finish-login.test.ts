import { expect } from 'chai'
import { FinishLogin } from '../../../src/application/factors/finish-login.ts'
import type { Email } from '../../../src/domain/email.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { faultOf } from '../../support/fault-of.ts'
import { type FactorSite, factorSite } from '../../support/scenes/factor-site.ts'
import { codeOf } from '../../support/scenes/factors.ts'
import { password } from '../../support/scenes/hashes.ts'

const requestId = 'request-of-a-test'
const email = 'somebody@example.com' as Email // safe: it is one

describe('the second step of a login', () => {
  let site: FactorSite
  before(async () => {
    site = await factorSite()
  })
  after(() => site.close())

  it('can be repeated after a store was away, without the first one', async () => {
    const [backend] = site.backends
    await site.registerUser.execute({ email, password, requestId })
    const granted = await site.logIn.execute({ email, password, backend, requestId })
    if (granted.type !== 'granted') throw new Error('a login was expected')
    const by = await site.authenticate.execute([{ backend, value: granted.issued.value }])
    if (by === null) throw new Error('a user was expected')
    const { secret, setup } = await site.beginTotp.execute({ by })
    await site.confirmTotp.execute({ by, setup, code: codeOf(secret, site.clock()), requestId })
    const asked = await site.logIn.execute({ email, password, backend, requestId })
    if (asked.type !== 'second_factor') throw new Error('a challenge was expected')

    const away = async (): Promise<never> => {
      throw new Unavailable('the store is away')
    }
    const { ports, changeUser } = site
    const needs = { ...ports, changeUser }
    const answer = (use: Pick<FinishLogin, 'execute'>) => {
      site.clock.advance(30)
      const proof = { method: 'totp', code: codeOf(secret, site.clock()) } as const
      return use.execute({ challenge: asked.challenge, proof, backend, requestId })
    }
    const withoutUsers = new FinishLogin({ ...needs, users: { ...ports.users, find: away } })
    expect(await faultOf(answer(withoutUsers)), 'as the user is read').to.be.instanceOf(Unavailable)
    const credentials = { ...backend.credentials, issue: away }
    const withoutSessions = new FinishLogin(needs)
    const other = {
      execute: (input: Parameters<FinishLogin['execute']>[0]) =>
        withoutSessions.execute({ ...input, backend: { ...backend, credentials } }),
    }
    expect(await faultOf(answer(other)), 'as the login is written').to.be.instanceOf(Unavailable)
    expect(await answer(site.finishLogin)).to.include({ type: 'granted' })
    expect(await faultOf(answer(site.finishLogin)), 'once').to.deep.include({ code: 'SECOND_FACTOR_REFUSED' })
  })
})
