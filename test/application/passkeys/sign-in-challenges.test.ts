import { expect } from 'chai'
import { StartOAuth } from '../../../src/application/oauth/start-oauth.ts'
import type { OAuthProvider } from '../../../src/application/ports/oauth-provider.ts'
import { factorSite } from '../../support/scenes/factor-site.ts'

// Safe: a journey that nobody finishes calls no other method.
const provider = {
  name: 'acme',
  scopes: [],
  authorizationUrl: async ({ state }: { state: string }) => `https://acme.example/authorize?state=${state}`,
} as unknown as OAuthProvider

describe('the challenges of sign-ins by a passkey', () => {
  it('take no place of sign-ins at providers, work once, for five minutes, in their browser', async () => {
    const site = await factorSite()
    try {
      for (let at = 0; at < 100; at += 1) site.beginPasskeyLogin.execute({ browser: null })
      const start = new StartOAuth({ ...site.ports, maxOpenJourneys: 1 })
      const journey = { provider, by: null, scopes: null, redirectUri: 'https://us.example', returnTo: null }
      expect((await start.execute({ ...journey, client: null })).state).to.have.length(43)

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
