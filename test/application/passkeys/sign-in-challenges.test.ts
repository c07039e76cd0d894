import { expect } from 'chai'
import { factorSite } from '../../support/scenes/factor-site.ts'

describe('the challenges of sign-ins by a passkey', () => {
  it('work once, for five minutes, in their browser', async () => {
    const site = await factorSite()
    try {
      const { signInChallenges } = site.ports
      const challenge = signInChallenges.open('one')
      const end = signInChallenges.endOf(challenge, 'one') ?? expect.fail('it is open')
      for (const [text, browser] of [
        [challenge, null],
        [challenge, 'another'],
        ['a'.repeat(43), 'one'],
        ['', 'one'],
      ] as const)
        expect(signInChallenges.endOf(text, browser)).to.equal(null)
      const uses = await Promise.all(Array.from({ length: 64 }, () => signInChallenges.use(challenge, end)))
      expect(uses.filter((isFirst) => isFirst)).to.have.length(1)
      site.clock.advance(300)
      expect(signInChallenges.endOf(challenge, 'one')).to.equal(null)
    } finally {
      await site.close()
    }
  })
})
