import { expect } from 'chai'
import { derivedKeys, newToken } from '../../../src/adapters/crypto/derived-keys.ts'
import { memoryLimiter } from '../../../src/adapters/stores/memory/limiter.ts'
import { memorySingleUseRecords } from '../../../src/adapters/stores/memory/single-use-records.ts'
import { Challenges } from '../../../src/application/factors/challenges.ts'
import { identityOf } from '../../../src/application/oauth/redeem-return.ts'
import { StartOAuth } from '../../../src/application/oauth/start-oauth.ts'
import type { OAuthProvider } from '../../../src/application/ports/oauth-provider.ts'
import { LimitReached, Unavailable } from '../../../src/domain/refusal.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { faultOf } from '../../support/fault-of.ts'
import { goodSecret } from '../../support/services/settings.ts'

// Safe: a journey that is refused at its end calls no other method.
const provider = {
  name: 'acme',
  scopes: [],
  authorizationUrl: async ({ state }: { state: string }) => `https://acme.example/authorize?state=${state}`,
} as unknown as OAuthProvider

function scene(maxOpenJourneys: number) {
  const clock = fixedClock()
  const needs = {
    singleUseRecords: memorySingleUseRecords(clock),
    limiter: memoryLimiter(),
    keyRing: derivedKeys(goodSecret),
    clock,
    newToken,
    freshLoginSeconds: null,
    maxOpenJourneys,
  }
  const start = new StartOAuth(needs)
  return {
    begin: (client: string | null) =>
      start.execute({ provider, by: null, scopes: null, redirectUri: 'https://us.example', returnTo: null, client }),
    challenge: () =>
      new Challenges(needs).open({
        ...{ user: aUser(), backend: 'cookie', browser: null, methods: ['pwd'] },
        ...{ requiresVerification: false, client: null },
      }),
    /** The person cancels at the provider. */
    async cancel(state: string): Promise<void> {
      const arrival = { provider, browserOf: () => null, recognised: () => undefined }
      const response = { code: null, state, error: 'access_denied', iss: null }
      await faultOf(identityOf(needs, response, arrival, null))
    },
  }
}

/** A /64 by its number within one /48. */
const subnet = (at: number): string => `2001:db8:1:${at.toString(16)}::/64`

describe('StartOAuth', () => {
  it('gives all networks of an IPv6 /48 a quarter of the journeys, so that other clients can sign in', async () => {
    const { begin } = scene(40)
    const faults = []
    for (let at = 0; at < 1000; at += 1) faults.push(await faultOf(begin(subnet(at * 64))))
    expect(faults.filter((fault) => fault === null)).to.have.length(10)
    expect(faults.at(-1)).to.be.instanceOf(LimitReached)
    expect(faults.at(-1)).to.include({ message: 'security.maxOpenJourneys', network: '2001:db8:1::/48' })
    for (const client of ['2001:db8:2::/64', '192.0.2.1', null]) expect(await faultOf(begin(client))).to.equal(null)
  })

  it('leaves a place for users who have shown their password, however many journeys are open', async () => {
    const { begin, challenge } = scene(4)
    for (let at = 1; at <= 4; at += 1) await begin(`192.0.2.${at}`)
    expect(await faultOf(begin(null))).to.be.instanceOf(Unavailable)
    expect(await faultOf(challenge())).to.equal(null)
  })

  it('counts only open journeys of a client', async () => {
    const { begin, cancel } = scene(4)
    for (let at = 0; at < 10; at += 1) {
      const { state } = await begin('192.0.2.1')
      expect(await faultOf(begin('192.0.2.1'))).to.be.instanceOf(LimitReached)
      await cancel(state)
      await cancel(state)
    }
  })
})
