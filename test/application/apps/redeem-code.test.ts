import { expect } from 'chai'
import { IssueCode } from '../../../src/application/apps/issue-code.ts'
import { RedeemCode } from '../../../src/application/apps/redeem-code.ts'
import type { Email } from '../../../src/domain/email.ts'
import { Refusal } from '../../../src/domain/refusal.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { faultOf } from '../../support/fault-of.ts'
import { factorSite } from '../../support/scenes/factor-site.ts'

describe('the code of an app', () => {
  it('gives no login that stays, if a second use comes while the first is under way', async () => {
    const site = await factorSite()
    try {
      const user = aUser({ email: 'ada@example.com' as Email }) // safe: it is one
      await site.ports.users.insert(user, [])
      for (const backend of site.backends) {
        const needs = { ...site.ports, changeUser: site.changeUser, backends: site.backends }
        const issued = await backend.credentials.issue(user, { at: site.clock(), methods: ['pwd'] })
        const by = { user, credential: issued.credential, backend }
        const bound = { app: 'shop', redirectUri: 'https://shop.example' }
        const challenge = site.ports.keyRing.digest('verifier')
        const code = await new IssueCode(needs).execute({
          ...bound,
          challenge,
          by,
          requestId: 'a-request',
        })
        const redeem = (through: typeof backend) =>
          new RedeemCode(needs).execute({
            ...bound,
            code,
            verifier: 'verifier',
            backend: through,
            requestId: 'a-request',
          })

        const given: string[] = []
        const issue: typeof backend.credentials.issue = async (...login) => {
          const one = await backend.credentials.issue(...login)
          given.push(one.value)
          expect(await faultOf(redeem(backend))).to.be.instanceOf(Refusal)
          return one
        }
        const slow = { ...backend, credentials: { ...backend.credentials, issue } }
        expect(await faultOf(redeem(slow))).to.include({ isReplay: true })
        expect(given).to.have.length(1)
        expect(await site.authenticate.execute(given.map((value) => ({ backend, value })))).to.equal(null)
        expect(await site.authenticate.execute([{ backend, value: issued.value }])).to.not.equal(null)
      }
    } finally {
      await site.close()
    }
  })
})
