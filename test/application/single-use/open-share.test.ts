import { expect } from 'chai'
import { derivedKeys, newToken } from '../../../src/adapters/crypto/derived-keys.ts'
import { memoryLimiter } from '../../../src/adapters/stores/memory/limiter.ts'
import { memorySingleUseRecords } from '../../../src/adapters/stores/memory/single-use-records.ts'
import { Challenges } from '../../../src/application/factors/challenges.ts'
import { LimitReached, Unavailable } from '../../../src/domain/refusal.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { faultOf } from '../../support/fault-of.ts'
import { goodSecret } from '../../support/services/settings.ts'

const place = { backend: 'cookie', browser: null }

function scene(maxSingleUseRecords: number) {
  const clock = fixedClock()
  const challenges = new Challenges({
    singleUseRecords: memorySingleUseRecords(clock),
    limiter: memoryLimiter(),
    keyRing: derivedKeys(goodSecret),
    clock,
    newToken,
    maxSingleUseRecords,
  })
  return {
    challenges,
    begin: (client: string | null) =>
      challenges.open({ ...place, user: aUser(), methods: ['pwd'], requiresVerification: false, client }),
  }
}

/** A /64 by its number within one /48. */
const subnet = (at: number): string => `2001:db8:1:${at.toString(16)}::/64`

describe('records that work once', () => {
  it('leave seven eighths of the places to other networks than one IPv6 /48', async () => {
    const { begin } = scene(80)
    const faults = []
    for (let at = 0; at < 1000; at += 1) faults.push(await faultOf(begin(subnet(at * 64))))
    expect(faults.filter((fault) => fault === null)).to.have.length(10)
    expect(faults.at(-1)).to.be.instanceOf(LimitReached)
    expect(faults.at(-1)).to.include({ message: 'security.maxSingleUseRecords', network: '2001:db8:1::/48' })
    for (const client of ['2001:db8:2::/64', '192.0.2.1', null]) expect(await faultOf(begin(client))).to.equal(null)
  })

  it('are refused while all places are in use', async () => {
    const { begin } = scene(4)
    for (let at = 1; at <= 4; at += 1) await begin(`192.0.2.${at}`)
    expect(await faultOf(begin(null))).to.be.instanceOf(Unavailable)
  })

  it('count for a client only while they are open', async () => {
    const { begin, challenges } = scene(8)
    for (let at = 0; at < 10; at += 1) {
      const challenge = await begin('192.0.2.1')
      expect(await faultOf(begin('192.0.2.1'))).to.be.instanceOf(LimitReached)
      const held = (await challenges.take(challenge, place)) ?? expect.fail('it is open')
      await challenges.end(held)
      expect(await challenges.take(challenge, place)).to.equal(null)
    }
  })
})
