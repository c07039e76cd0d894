import { expect } from 'chai'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { deviceTokens } from '../../../src/adapters/crypto/device-tokens.ts'
import { CountedLimits } from '../../../src/application/limits/counted-limits.ts'
import { ReadLimits } from '../../../src/application/limits/read-limits.ts'
import type { EmailKey } from '../../../src/domain/email.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { countersBy } from '../../support/scenes/counters.ts'
import { goodSecret } from '../../support/services/settings.ts'

const ada = 'ada@example.com' as EmailKey // safe: it is an address
const client = '192.0.2.1'
const start = Date.parse('2030-01-01T00:00:00Z')

function scene() {
  const clock = fixedClock(new Date(start))
  const limiter = countersBy(clock)
  const keyRing = derivedKeys(goodSecret)
  const devices = deviceTokens(keyRing.deviceTokenKey, clock)
  const figures = {
    passwordsPerClient: 10,
    passwordsBeforePauses: 2,
    longestPauseSeconds: 60,
    passwordsPerAccount: 4,
    passwordsPerDevice: 10,
    factorsPerAccount: 2,
    challengesPerAccount: 2,
    factorsBeforeClosing: 3,
    registrationsPerClient: 10,
    tokenRequestsPerClient: 10,
    wrongTokensPerClient: 10,
    oauthRequestsPerClient: 10,
    tokensPerAddress: 2,
  }
  const needs = { limiter, keyRing, figures, clock }
  const limits = new CountedLimits({ ...needs, deviceTokens: devices, attacked: () => {}, withheld: () => {} })
  const readLimits = new ReadLimits(needs)
  return {
    clock,
    limiter,
    limits,
    device: () => devices.issue(ada),
    guess: (by: string, device: string | null = null) =>
      limits.password({ client: by, device, account: ada, requestId: 'request-1' }, async () => null),
    /** Each state in a line, with the seconds until its end. */
    async read(by: string | null = null): Promise<string[]> {
      const states = await readLimits.execute({ account: ada, passwordVersion: 1, factorsSince: 1, client: by })
      return states.map(({ limit, of, purpose, points, most, isReached, until }) => {
        const left = (until.getTime() - clock().getTime()) / 1000
        const subject = [limit, of, ...(purpose === null ? [] : [purpose])].join(' ')
        return `${subject} ${points}/${most}${isReached ? ' reached' : ''} ${left}`
      })
    },
  }
}

describe('the state of the limits', () => {
  it('is that of the passwords of an account, until its window ends', async () => {
    const { guess, read, device, clock } = scene()
    expect(await read()).to.deep.equal([])
    for (let at = 1; at <= 3; at++) await guess(`192.0.2.${at}`)
    await guess('192.0.2.9', device())
    clock.advance(60)
    const used = ['passwordsPerAccount strangers 3/4 3540', 'passwordsPerAccount devices 1/4 3540']
    expect(await read()).to.deep.equal(used)
    await guess('192.0.2.4')
    expect((await read())[0]).to.equal('passwordsPerAccount strangers 4/4 reached 3540')
    clock.advance(3540)
    expect(await read()).to.deep.equal([])
  })

  it('is that of the second factors, of strangers and of known browsers', async () => {
    const { limits, device, read } = scene()
    const tries = (by: string | null) =>
      limits.factor({ client, device: by, account: ada, passwordVersion: 1, factorsSince: 1 }, async () => null)
    await tries(null)
    await tries(device())
    await limits.challenge({ account: ada, device: device() })
    expect(await read()).to.deep.equal([
      'factorsPerAccount strangers 1/2 900',
      'factorsBeforeClosing strangers 1/3 2592000',
      'factorsBeforeClosing devices 1/3 2592000',
      'challengesPerAccount devices 1/2 300',
    ])
  })

  it('has the pause of a client', async () => {
    const { guess, read, clock } = scene()
    await guess(client)
    expect((await read(client)).slice(1)).to.deep.equal([
      'passwordsPerClient client 1/10 600',
      'passwordsBeforePauses client 1/2 3600',
    ])
    await guess(client)
    expect((await read(client)).at(-1)).to.equal('passwordsBeforePauses client 2/2 reached 1')
    clock.advance(1)
    expect((await read(client)).at(-1)).to.equal('passwordsBeforePauses client 2/2 3599')
    expect(await read('192.0.2.2')).to.deep.equal(['passwordsPerAccount strangers 2/4 3599'])
  })

  it('has the tokens that were sent, and is read without a change', async () => {
    const { limits, limiter, read, clock } = scene()
    for (let at = 0; at < 2; at++) {
      clock.advance(60)
      await limits.maySendToken({ purpose: 'reset_password', account: ada, device: null, requestId: 'request-1' })
    }
    const before = limiter.points()
    expect(await read(client)).to.deep.equal(['tokensPerAddress strangers reset_password 2/2 reached 3540'])
    expect(limiter.points()).to.deep.equal(before)
  })
})
