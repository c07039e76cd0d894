import { expect } from 'chai'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { deviceTokens } from '../../../src/adapters/crypto/device-tokens.ts'
import { CountedLimits } from '../../../src/application/limits/counted-limits.ts'
import type { FactorAttempt, PasswordAttempt, TokenDemand } from '../../../src/application/limits/limits.ts'
import type { Attack } from '../../../src/application/limits/report-attack.ts'
import type { EmailKey } from '../../../src/domain/email.ts'
import { LimitReached, Refusal } from '../../../src/domain/refusal.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { faultOf } from '../../support/fault-of.ts'
import { countersBy } from '../../support/scenes/counters.ts'
import { goodSecret } from '../../support/services/settings.ts'

const ada = 'ada@example.com' as EmailKey // safe: both are addresses
const grace = 'grace@example.com' as EmailKey
const attempt: PasswordAttempt = { client: '192.0.2.1', device: null, account: ada, requestId: 'request-1' }
const ofNobody = { ...attempt, client: null }

function scene(given: Partial<ConstructorParameters<typeof CountedLimits>[0]['figures']> = {}) {
  const clock = fixedClock(new Date('2030-01-01T00:00:00Z'))
  const limiter = countersBy(clock)
  const keyRing = derivedKeys(goodSecret)
  const devices = deviceTokens(keyRing.deviceTokenKey, clock)
  const attacks: Attack[] = []
  const figures = {
    passwordsPerClient: 1000,
    passwordsBeforePauses: 1000,
    longestPauseSeconds: 60,
    passwordsPerAccount: 1000,
    passwordsPerDevice: 1000,
    factorsPerAccount: 2,
    challengesPerAccount: 2,
    factorsBeforeClosing: 3,
    registrationsPerClient: 2,
    tokenRequestsPerClient: 2,
    wrongTokensPerClient: 2,
    oauthRequestsPerClient: 2,
    tokensPerAddress: 2,
    ...given,
  }
  const withheld: unknown[] = []
  const limits = new CountedLimits({
    limiter,
    keyRing,
    deviceTokens: devices,
    figures,
    clock,
    attacked: (attack) => void attacks.push(attack),
    withheld: (demand) => void withheld.push(demand),
  })
  let verified = 0

  /** The outcome of a verification: the verdict, or the limit that refused it. */
  async function verify(right: boolean, by: PasswordAttempt = attempt): Promise<string> {
    try {
      const verdict = await limits.password(by, async () => {
        verified += 1
        return right ? 'right' : null
      })
      return verdict ?? 'wrong'
    } catch (thrown) {
      if (!(thrown instanceof LimitReached)) throw thrown
      return `${thrown.message.replace('limits.', '')}, retry after ${thrown.retryAfterSeconds} s`
    }
  }
  return {
    clock,
    limiter,
    limits,
    devices,
    attacks,
    withheld,
    verify,
    guess: (by?: PasswordAttempt) => verify(false, by),
    logIn: (by?: PasswordAttempt) => verify(true, by),
    verified: () => verified,
  }
}

const demand: TokenDemand = { purpose: 'reset_password', account: ada, device: null, requestId: 'request-1' }

/** Asks for tokens, each time a minute later. */
function tokenScene() {
  const { limits, clock, ...others } = scene()
  const ask = async (given: Partial<TokenDemand> = {}): Promise<boolean> => {
    clock.advance(60)
    return await limits.maySendToken({ ...demand, ...given })
  }
  return { ...others, limits, clock, ask }
}

async function times<T>(count: number, work: (at: number) => Promise<T>): Promise<T[]> {
  const outcomes: T[] = []
  for (let at = 0; at < count; at += 1) outcomes.push(await work(at))
  return outcomes
}

describe('the limits of passwords', () => {
  it('verify as many wrong passwords of a client as its counter has, and none more until its window ends', async () => {
    const { guess, logIn, clock, verified } = scene({ passwordsPerClient: 3 })
    expect(await times(3, () => guess())).to.deep.equal(['wrong', 'wrong', 'wrong'])
    clock.advance(540)
    expect(await logIn({ ...attempt, account: grace })).to.equal('passwordsPerClient, retry after 60 s')
    expect(verified()).to.equal(3)
    expect(await guess({ ...attempt, client: '192.0.2.2' })).to.equal('wrong')
    clock.advance(60)
    expect(await logIn()).to.equal('right')
  })

  it('pause 1, 2, 4 … 60 seconds after the first five wrong passwords of a client for an account', async () => {
    const { guess, clock } = scene({ passwordsBeforePauses: 5 })
    await times(5, () => guess())
    for (const pause of [1, 2, 4, 8, 16, 32, 60, 60]) {
      expect(await guess()).to.equal(`passwordsBeforePauses, retry after ${pause} s`)
      clock.advance(pause - 0.001)
      expect(await guess()).to.match(/^passwordsBeforePauses/)
      clock.advance(0.001)
      expect(await guess()).to.equal('wrong')
    }
  })

  it('pause no other client and no other account', async () => {
    const { guess } = scene({ passwordsBeforePauses: 1 })
    await guess()
    expect(await guess()).to.match(/^passwordsBeforePauses/)
    expect(await guess({ ...attempt, client: '192.0.2.2' })).to.equal('wrong')
    expect(await guess({ ...attempt, account: grace })).to.equal('wrong')
  })

  it('forget the wrong passwords of a client for an account after the right one', async () => {
    const { guess, logIn, clock, limiter } = scene({ passwordsBeforePauses: 2 })
    await times(2, () => guess())
    clock.advance(1)
    expect(await logIn()).to.equal('right')
    expect(limiter.points()).to.deep.equal({ passwordsPerClient: 2, passwordsPerAccount: 2 })
    expect(await times(2, () => guess())).to.deep.equal(['wrong', 'wrong'])
    expect(await guess()).to.equal('passwordsBeforePauses, retry after 1 s')
  })

  it('count the wrong passwords of all clients for an account, whether or not it has a user', async () => {
    const { guess, logIn, attacks } = scene({ passwordsPerAccount: 3 })
    const from = (at: number) => guess({ ...attempt, client: `192.0.2.${at}` })
    expect(await times(4, from)).to.deep.equal(['wrong', 'wrong', 'wrong', 'passwordsPerAccount, retry after 3600 s'])
    expect(attacks).to.deep.equal([{ account: ada, client: '192.0.2.3', requestId: 'request-1' }])
    expect(await logIn()).to.match(/^passwordsPerAccount/)
    expect(await logIn({ ...attempt, account: grace })).to.equal('right')
  })

  it('let a browser log in with its device token while the account is attacked, with a counter of its own', async () => {
    const { guess, logIn, devices, clock } = scene({
      passwordsPerAccount: 3,
      passwordsPerDevice: 2,
      factorsPerAccount: 2,
      challengesPerAccount: 2,
      factorsBeforeClosing: 3,
      passwordsBeforePauses: 1,
    })
    await times(3, (at) => guess({ ...attempt, client: `192.0.2.${at}` }))
    const owner = { ...attempt, device: devices.issue(ada) }
    expect(await logIn(owner)).to.equal('right')
    expect(await times(2, () => guess(owner))).to.deep.equal(['wrong', 'wrong'])
    expect(await logIn(owner)).to.equal('passwordsPerDevice, retry after 3600 s')
    expect(await logIn({ ...owner, device: devices.issue(ada) })).to.equal('right')
    clock.advance(3600)
    expect(await logIn(owner)).to.equal('right')
  })

  it('let all device tokens of an account together guess as often as strangers, because a former owner may have many', async () => {
    const { guess, logIn, devices, attacks } = scene({ passwordsPerAccount: 3, passwordsPerDevice: 2 })
    const fromNewDevice = () => guess({ ...attempt, device: devices.issue(ada) })
    expect(await times(3, fromNewDevice)).to.deep.equal(['wrong', 'wrong', 'wrong'])
    expect(await logIn({ ...attempt, device: devices.issue(ada) }), 'as a stranger').to.equal('right')
    expect(await times(3, fromNewDevice)).to.deep.equal(['wrong', 'wrong', 'wrong'])
    expect(await fromNewDevice()).to.equal('passwordsPerAccount, retry after 3600 s')
    expect(attacks).to.have.lengthOf(1)
  })

  it('judge the client first, then the client with the account, then the account', async () => {
    const { clock, guess, logIn, limiter, attacks } = scene({
      passwordsPerClient: 2,
      passwordsBeforePauses: 0,
      passwordsPerAccount: 1,
    })
    await guess()
    const counted = {
      passwordsPerClient: 1,
      passwordsBeforePauses: 1,
      passwordsPerAccount: 1,
      'passwordsBeforePauses:pause': 2,
    }
    expect(await guess()).to.match(/^passwordsBeforePauses/)
    expect(limiter.points()).to.deep.equal(counted)
    expect(await guess({ ...attempt, client: '192.0.2.2' })).to.match(/^passwordsPerAccount/)
    expect(attacks).to.have.length(1)
    await guess({ ...attempt, account: grace })
    clock.advance(1) // the pause takes 2 s
    expect(await logIn()).to.match(/^passwordsPerClient/)
  })

  it('look up a login name within the limit of the client, and count the account that is found', async () => {
    const { verify } = scene({ passwordsPerClient: 2, passwordsPerAccount: 1 })
    let looked = 0
    const account = async () => {
      looked += 1
      return ada
    }
    expect(await verify(false, { ...attempt, account })).to.equal('wrong')
    expect(await verify(false)).to.match(/^passwordsPerAccount/)
    expect(await verify(false, { ...attempt, account: grace })).to.equal('wrong')
    for (let at = 0; at < 2; at++) expect(await verify(true, { ...attempt, account })).to.match(/^passwordsPerClient/)
    expect(looked).to.equal(1)
  })

  it('remember 10 000 refusals at most, so that a flood from many clients fills no memory', async () => {
    const { limiter, limits } = scene({ oauthRequestsPerClient: 0 })
    const refuse = (client: string) =>
      faultOf(limits.request('oauthRequests', client, async () => expect.fail('it ran')))
    const asksStore = async (client: string): Promise<boolean> => {
      const before = limiter.additions()
      expect(await refuse(client)).to.be.instanceOf(LimitReached)
      return limiter.additions() > before
    }
    const refused = Array.from({ length: 10_000 }, (_, number) => `client ${number}`)
    await Promise.all(refused.map(refuse))
    expect(await asksStore('client 0')).to.equal(false)
    await refuse('one more')
    expect(await asksStore('client 0')).to.equal(true)
  })

  it('refuse again without the store for a second', async () => {
    const { clock, guess, limiter } = scene({ passwordsPerClient: 1 })
    await guess()
    expect(await guess()).to.match(/^passwordsPerClient/)
    const before = limiter.additions()
    clock.advance(0.999)
    expect(await guess()).to.match(/^passwordsPerClient/)
    expect(limiter.additions()).to.equal(before)
    clock.advance(0.001)
    expect(await guess()).to.match(/^passwordsPerClient/)
    expect(limiter.additions()).to.be.above(before)
  })

  for (const limit of ['passwordsPerClient', 'passwordsBeforePauses']) {
    it(`accept attempts as soon as a right password is verified, although ${limit} refused one`, async () => {
      const { limits, guess } = scene({ [limit]: 1 })
      const verified = Promise.withResolvers<string>()
      const logIn = limits.password(attempt, () => verified.promise)
      expect(await guess()).to.include(limit)
      verified.resolve('right')
      await logIn
      expect(await guess()).to.equal('wrong')
    })
  }

  it('count nothing for a client that is unknown', async () => {
    const { guess, limiter } = scene({ passwordsPerClient: 1, passwordsBeforePauses: 1 })
    expect(await times(3, () => guess(ofNobody))).to.deep.equal(['wrong', 'wrong', 'wrong'])
    expect(limiter.points()).to.deep.equal({ passwordsPerAccount: 3 })
  })

  it('count a text that is no address for the client only', async () => {
    const { guess, limiter } = scene()
    await guess({ ...attempt, account: null })
    expect(limiter.points()).to.deep.equal({ passwordsPerClient: 1 })
  })

  it('count neither a right password nor an attempt that a later limit refuses', async () => {
    const { guess, logIn, limiter, devices } = scene({ passwordsPerAccount: 1 })
    await logIn()
    await logIn({ ...attempt, device: devices.issue(ada) })
    expect(limiter.points()).to.deep.equal({})
    await guess(ofNobody)
    await times(20, () => guess())
    expect(limiter.points()).to.deep.equal({ passwordsPerAccount: 1 })
  })

  it('keep no trace of a right password in the time of a later refusal', async () => {
    const { guess, logIn, clock } = scene({ passwordsPerAccount: 1 })
    await logIn(ofNobody)
    clock.advance(1800)
    await guess(ofNobody)
    expect(await guess(ofNobody)).to.equal('passwordsPerAccount, retry after 3600 s')
  })

  it('count no attempt whose verification fails', async () => {
    const { limits, limiter } = scene()
    const failed = await faultOf(limits.password(attempt, () => Promise.reject(new Error('the pool is full'))))
    expect(failed).to.have.property('message', 'the pool is full')
    expect(limiter.points()).to.deep.equal({})
  })

  it('verify exactly the limit of many concurrent guesses', async () => {
    const { guess, verified } = scene({ passwordsPerAccount: 10 })
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, at) => guess({ ...attempt, client: `client ${at}` })),
    )
    expect(outcomes.filter((outcome) => outcome === 'wrong')).to.have.length(10)
    expect(verified()).to.equal(10)
  })

  it('verify exactly the limit of many concurrent guesses of one client', async () => {
    const { guess, verified } = scene({ passwordsBeforePauses: 5 })
    await Promise.all(Array.from({ length: 64 }, () => guess()))
    expect(verified()).to.equal(5)
  })

  it('give no point back that could reach the next window', async () => {
    for (const seconds of [3600, 3599.5]) {
      const { limits, limiter, clock, guess } = scene({ passwordsPerAccount: 2 })
      const { add } = limiter
      const outcomes: string[] = []
      limiter.add = async (key, points, window) => {
        if (points < 0 && outcomes.length === 0) {
          clock.advance(0.5) // on its way to the store
          outcomes.push(await guess(ofNobody))
        }
        return await add(key, points, window)
      }
      await limits.password(ofNobody, async () => {
        clock.advance(seconds)
        return 'right'
      })
      clock.advance(0.5)
      while (outcomes.length < 4) outcomes.push(await guess(ofNobody))
      expect(outcomes.filter((outcome) => outcome === 'wrong')).to.have.length(2)
    }
  })
})

/** A /64 by its number within one /48: 256 of them are a /56. */
const subnet = (at: number): string => `2001:db8:1:${at.toString(16)}::/64`

describe('the limits of an IPv6 client', () => {
  it('verify 16 times the wrong passwords of a client for its /48, and four times for a /56 of it', async () => {
    const { guess, logIn, verified } = scene({ passwordsPerClient: 3 })
    const from = (at: number) => guess({ ...attempt, client: subnet(at) })
    expect(
      (await times(20, from)).filter((outcome) => outcome === 'wrong'),
      'one /56',
    ).to.have.length(12)
    for (const other of [1, 2, 3, 4]) await times(20, (at) => from(other * 256 + at))
    expect(verified(), 'one /48').to.equal(48)
    expect(await logIn({ ...attempt, client: '2001:db8:1:ffff::/64' })).to.match(/^passwordsPerClient/)
    for (const client of ['2001:db8:2::/64', '192.0.2.1']) expect(await logIn({ ...attempt, client })).to.equal('right')
  })

  it('pause a /48 after 16 times the wrong passwords of a client for an account', async () => {
    const { guess, verified } = scene({ passwordsBeforePauses: 5 })
    const outcomes = await times(200, (at) => guess({ ...attempt, client: subnet(at * 256) }))
    expect(verified()).to.equal(80)
    expect(outcomes.at(-1)).to.equal('passwordsBeforePauses, retry after 1 s')
    expect(await guess({ ...attempt, client: '2001:db8:2::/64' })).to.equal('wrong')
  })

  it('count a right password in no network, and end the pause of all', async () => {
    const { guess, logIn, limiter, clock } = scene({ passwordsBeforePauses: 1 })
    await times(100, (at) => logIn({ ...attempt, client: subnet(at) }))
    expect(limiter.points()).to.deep.equal({})
    const fromElsewhere = (at: number) => guess({ ...attempt, client: subnet(at * 256) })
    expect((await times(17, fromElsewhere)).at(-1)).to.match(/^passwordsBeforePauses/)
    clock.advance(1)
    expect(await logIn({ ...attempt, client: subnet(5000) })).to.equal('right')
    expect(await fromElsewhere(18)).to.equal('wrong')
  })

  it('refuse requests of a /48, and tell its name', async () => {
    const { limits, limiter } = scene()
    const ask = (client: string) => faultOf(limits.request('registrations', client, async () => 'done'))
    const refused = await times(40, (at) => ask(subnet(at * 256)))
    expect(refused.filter((fault) => fault === null)).to.have.length(32)
    expect(refused.at(-1)).to.include({ message: 'limits.registrationsPerClient', network: '2001:db8:1::/48' })
    const before = limiter.additions()
    await ask(subnet(7))
    expect(limiter.additions(), 'without the store').to.equal(before)
  })

  it('ask the store for all networks at once', async () => {
    const { limits, limiter } = scene()
    let [running, most] = [0, 0]
    const { add } = limiter
    limiter.add = async (...input) => {
      running += 1
      most = Math.max(most, running)
      return await add(...input).finally(() => (running -= 1))
    }
    await limits.request('registrations', subnet(1), async () => 'done')
    expect(most).to.equal(3)
  })
})

describe('the limits of requests', () => {
  for (const limit of ['registrations', 'tokenRequests', 'oauthRequests'] as const) {
    it(`count ${limit} of a client, whatever comes of them`, async () => {
      const { limits, limiter } = scene()
      expect(await limits.request(limit, '192.0.2.1', async () => 'done')).to.equal('done')
      await faultOf(limits.request(limit, '192.0.2.1', () => Promise.reject(new Refusal('OAUTH_INVALID_STATE'))))
      const refused = await faultOf(limits.request(limit, '192.0.2.1', async () => expect.fail('it ran')))
      expect(refused).to.be.instanceOf(LimitReached)
      expect(limiter.points()).to.deep.equal({ [`${limit}PerClient`]: 2 })
      expect(await limits.request(limit, '192.0.2.2', async () => 'done')).to.equal('done')
      expect(await times(3, () => limits.request(limit, null, async () => 'done'))).to.have.length(3)
    })
  }

  it('count only wrong tokens', async () => {
    const { limits, limiter } = scene()
    const use = (work: () => Promise<unknown>) => limits.request('wrongTokens', '192.0.2.1', work)
    await use(async () => 'done')
    await faultOf(use(() => Promise.reject(new Refusal('RESET_PASSWORD_INVALID_PASSWORD', 'too short'))))
    expect(limiter.points()).to.deep.equal({})
    await faultOf(use(() => Promise.reject(new Refusal('RESET_PASSWORD_BAD_TOKEN'))))
    await faultOf(use(() => Promise.reject(new Refusal('VERIFY_USER_BAD_TOKEN'))))
    expect(await faultOf(use(async () => expect.fail('it ran')))).to.be.instanceOf(LimitReached)
  })

  it('send so many tokens of each kind to an address in an hour', async () => {
    const { ask, clock } = tokenScene()
    expect(await times(3, () => ask())).to.deep.equal([true, true, false])
    expect(await ask({ purpose: 'verify_email' })).to.equal(true)
    expect(await ask({ account: grace })).to.equal(true)
    clock.advance(3600)
    expect(await ask()).to.equal(true)
  })

  it('count the tokens for all suffixes after a plus together, also of known browsers and within a minute', async () => {
    const { limits, clock, devices, ask } = tokenScene()
    const suffixed = (at: number) => `ada+${at}@example.com` as EmailKey // safe: it is an address
    const asked = await times(3, (at) => limits.maySendToken({ ...demand, account: suffixed(at) }))
    expect(asked).to.deep.equal([true, true, false])
    const known = await times(3, (at) => ask({ account: suffixed(at), device: devices.issue(suffixed(at)) }))
    expect(known).to.deep.equal([true, true, false])
    expect(await times(3, (at) => limits.mayTell('new_sign_in', suffixed(at)))).to.deep.equal([true, true, false])
    expect(await ask(), 'the address without a suffix').to.equal(true)
    clock.advance(3600)
    expect(await ask({ account: suffixed(7) })).to.equal(true)
  })

  it('count the requests of a minute for an address once, because they send one token', async () => {
    const { limits, clock, ask } = tokenScene()
    const askAgain = () => limits.maySendToken(demand)
    expect(await times(3, askAgain)).to.deep.equal([true, true, true])
    expect(await ask()).to.equal(true)
    expect(await times(2, askAgain), 'within a minute of the last token').to.deep.equal([true, true])
    clock.advance(60)
    expect(await times(2, askAgain)).to.deep.equal([false, false])
  })

  it('send tokens that a browser with a device token asks for, although strangers used up those of the address', async () => {
    const { devices, ask } = tokenScene()
    await times(3, () => ask())
    expect(await ask({ device: devices.issue(grace) })).to.equal(false)
    const device = devices.issue(ada)
    expect(await times(3, () => ask({ device }))).to.deep.equal([true, true, false])
    expect(await ask({ device: devices.issue(ada) }), 'another device').to.equal(false)
  })

  it('report the first request of a window that gets no token', async () => {
    const { ask, withheld, clock } = tokenScene()
    await times(4, (at) => ask({ requestId: `request-${at}` }))
    const report = { purpose: 'reset_password', requestId: 'request-2' }
    expect(withheld).to.deep.equal([report])
    clock.advance(3600)
    await times(3, () => ask({ requestId: 'request-2' }))
    expect(withheld).to.deep.equal([report, report])
  })
})

describe('the limits of second factors', () => {
  function factorScene(figures: { readonly factorsPerAccount: number; readonly factorsBeforeClosing: number }) {
    const { limits, clock, devices } = scene(figures)
    const tries = async (
      right: boolean,
      device: string | null = null,
      of: Partial<FactorAttempt> = {},
    ): Promise<string> => {
      const tried = { client: '192.0.2.1', device, account: ada, passwordVersion: 1, factorsSince: 1, ...of }
      try {
        return (await limits.factor(tried, async () => (right ? 'right' : null))) ?? 'wrong'
      } catch (thrown) {
        if (!(thrown instanceof LimitReached)) throw thrown
        return `${thrown.limit}, retry after ${thrown.retryAfterSeconds} s`
      }
    }
    return { tries, clock, owner: devices.issue(ada), another: () => devices.issue(ada) }
  }

  it('count the wrong codes of strangers together, and those of a known browser apart', async () => {
    const { tries, clock, owner } = factorScene({ factorsPerAccount: 2, factorsBeforeClosing: 100 })
    expect(await times(2, () => tries(false))).to.deep.equal(['wrong', 'wrong'])
    expect(await tries(true)).to.equal('factorsPerAccount, retry after 900 s')
    expect(await times(2, () => tries(false, owner))).to.deep.equal(['wrong', 'wrong'])
    expect(await tries(true, owner)).to.equal('factorsPerAccount, retry after 900 s')
    clock.advance(900)
    expect(await tries(true)).to.equal('right')
    expect(await tries(true, owner)).to.equal('right')
  })

  it('close the step to all known browsers together, and then count them as strangers', async () => {
    const { tries, clock, owner, another } = factorScene({ factorsPerAccount: 2, factorsBeforeClosing: 4 })
    for (let device = 0; device < 2; device++) {
      const thief = another()
      expect(await times(2, () => tries(false, thief))).to.deep.equal(['wrong', 'wrong'])
      expect(await tries(false, thief)).to.equal('factorsPerAccount, retry after 900 s')
    }
    expect(await times(2, () => tries(false, another())), 'as strangers').to.deep.equal(['wrong', 'wrong'])
    expect(await tries(true, another())).to.equal('factorsPerAccount, retry after 900 s')
    clock.advance(900)
    expect(await tries(true, owner), 'as a stranger').to.equal('right')
    expect(await times(2, () => tries(false, another()))).to.deep.equal(['wrong', 'wrong'])
  })

  it('count the wrong codes for the present factors only, not those before a reset', async () => {
    const { tries, owner } = factorScene({ factorsPerAccount: 2, factorsBeforeClosing: 2 })
    const afterReset = { factorsSince: 2 }
    for (const device of [null, owner]) {
      expect(await times(2, () => tries(false, device))).to.deep.equal(['wrong', 'wrong'])
      expect(await tries(true, device)).to.match(/^factors/)
      expect(await times(2, () => tries(false, device, afterReset))).to.deep.equal(['wrong', 'wrong'])
      expect(await tries(true, device, afterReset)).to.match(/^factors/)
    }
  })

  it('count the challenges of an account, and those of known browsers apart', async () => {
    const { limits, clock, devices } = scene({ challengesPerAccount: 2 })
    const open = (device: string | null = null) => limits.challenge({ account: ada, device })
    await times(2, () => open())
    expect(await faultOf(open())).to.include({ limit: 'challengesPerAccount', retryAfterSeconds: 300 })
    await times(2, () => open(devices.issue(ada)))
    expect(await faultOf(open(devices.issue(ada)))).to.include({ limit: 'challengesPerAccount' })
    clock.advance(300)
    await open()
  })

  it('close the step to strangers, until a code of the owner is right or the password changes', async () => {
    const { tries, clock, owner } = factorScene({ factorsPerAccount: 2, factorsBeforeClosing: 4 })
    const wrongCodes = async () => {
      for (let round = 0; round < 2; round++) {
        await times(2, () => tries(false))
        clock.advance(900)
      }
    }
    await wrongCodes()
    expect(await tries(true)).to.match(/^factorsBeforeClosing, retry after \d{7} s$/)
    expect(await tries(true, owner)).to.equal('right')
    expect(await tries(true)).to.equal('right')
    clock.advance(900)
    await wrongCodes()
    expect(await tries(true)).to.match(/^factorsBeforeClosing/)
    expect(await tries(true, null, { passwordVersion: 2 })).to.equal('right')
  })
})
