import { expect } from 'chai'
import { causeCodes, causesOf, isBlocking } from '../../../src/application/explain/causes.ts'
import { sentenceOf } from '../../../src/application/explain/words.ts'
import { noFactors } from '../../../src/domain/factors.ts'
import { type RefusedReason, refusedReasons } from '../../../src/domain/refused-login.ts'
import { aUser } from '../../../src/testing/builders.ts'

const start = Date.parse('2030-01-01T00:00:00Z')
const at = (seconds: number) => new Date(start + seconds * 1000)
const user = aUser({ isVerified: true })

type Known = Parameters<typeof causesOf>[1]

function causes(known: Partial<Known> = {}, needs: Parameters<typeof causesOf>[0] = {}) {
  const nothing = {
    user,
    refusals: [],
    lastLoginAt: null,
    limits: [],
    deliveries: [],
    demandsVerified: false,
    now: at(0),
  }
  return causesOf(needs, { ...nothing, ...known })
}
const codes = (...given: Parameters<typeof causes>) => causes(...given).map(({ code }) => code)
/** Refusals, the latest first. */
const refused = (...reasons: readonly RefusedReason[]) =>
  reasons.map((reason, index) => ({ reason, detail: null, at: at(100 - index) }))
const delivery = (type: 'verification_requested' | 'logged_in', reason: string | null, email = user.email) =>
  ({
    type,
    reason,
    state: 'dead',
    sink: 'mail',
    isSinkOff: false,
    attempts: 1,
    userId: user.id,
    email,
    at: at(0),
  }) as never // safe: these fields are read

describe('the causes why somebody cannot log in', () => {
  it('are one at least, and each has a sentence', () => {
    expect(codes()).to.deep.equal(['nothing_found'])
    expect(codes({ user: null })).to.deep.equal(['no_account'])
    for (const code of causeCodes) {
      const sentence = sentenceOf({ code, detail: 'x', until: at(60), count: 2 })
      expect(sentence).to.match(/^[A-Z].*\.$|^limits\.x .*\.$/)
      expect(sentence).to.not.match(/[{}]/)
    }
  })

  it('refuse a login, or tell only what was', () => {
    const blocks = (...given: Parameters<typeof causes>) => causes(...given).some(isBlocking)
    const reached = { limit: 'passwordsPerAccount', of: 'strangers', purpose: null, points: 9, most: 9 } as const
    const limits = [{ ...reached, isReached: true, until: at(60) }]
    const unverified = aUser({ isVerified: false, email: user.email })
    for (const known of [
      { user: null },
      { user: aUser({ isActive: false }) },
      { user: aUser({ passwordHash: null, oauthAccounts: [] }) },
      { user: unverified, demandsVerified: true },
      { limits },
    ])
      expect(blocks(known), JSON.stringify(known)).to.equal(true)
    for (const known of [
      {},
      { refusals: refused('wrong_password', 'limit_reached', 'unavailable', 'second_factor_wrong', 'no_password') },
      { deliveries: [delivery('verification_requested', '550 no such mailbox')] },
      { user: unverified },
    ])
      expect(blocks(known), JSON.stringify(known)).to.equal(false)
  })

  it('are for an invited person that the invitation is not accepted, and nothing else', () => {
    const invited = aUser({ passwordHash: null, isVerified: false, oauthAccounts: [] })
    expect(codes({ user: invited, refusals: refused('no_password'), demandsVerified: true })).to.deep.equal([
      'no_way_in',
    ])
  })

  it('are that the clock was ahead, while each code is refused because of it', () => {
    const step = start / 30_000
    const withCode = (lastStep: number) =>
      aUser({ isVerified: true, factors: { ...noFactors, totp: { sealedSecret: 'x', lastStep, addedAt: 0 } } })
    expect(codes({ user: withCode(step + 1) }), 'a telephone may be a step ahead').to.deep.equal(['nothing_found'])
    expect(causes({ user: withCode(step + 120) })[0]).to.deep.include({ code: 'clock_was_ahead', until: at(3600) })
    expect(codes({ user: withCode(step + 120), now: at(3600) })).to.deep.equal(['nothing_found'])
  })

  it('count wrong passwords, and not the pauses after them', () => {
    const paused = { reason: 'limit_reached', detail: 'passwordsBeforePauses', at: at(200) } as const
    const [first] = causes({ refusals: [paused, paused, ...refused('wrong_password', 'wrong_password')] })
    expect(first).to.include({ code: 'wrong_password', count: 2 })
  })

  it('begin with what stands in the way now, and go on with the latest refusals', () => {
    const refusals = refused('wrong_password', 'second_factor_wrong', 'wrong_password')
    expect(codes({ refusals })).to.deep.equal(['wrong_password', 'second_factor_wrong'])
    expect(causes({ refusals })[0]).to.include({ count: 2 })
    const inactive = aUser({ isActive: false })
    expect(codes({ user: inactive, refusals: refused('inactive', 'wrong_password') })).to.deep.equal([
      'inactive',
      'wrong_password',
    ])
  })

  it('leave out what was before the last login', () => {
    const refusals = refused('wrong_password', 'second_factor_wrong')
    expect(codes({ refusals, lastLoginAt: at(99) })).to.deep.equal(['wrong_password'])
    expect(codes({ refusals, lastLoginAt: at(100) })).to.deep.equal(['nothing_found'])
  })

  it('know the verification that a login demands, and the message that did not arrive', () => {
    const unverified = aUser({ isVerified: false, email: user.email })
    expect(codes({ user: unverified })).to.deep.equal(['nothing_found'])
    expect(codes({ user: unverified, demandsVerified: true })).to.deep.equal(['not_verified'])
    expect(codes({ user: unverified, refusals: refused('not_verified') })).to.deep.equal(['not_verified'])
    const deliveries = [delivery('logged_in', 'a fault'), delivery('verification_requested', '550 no such mailbox')]
    const known = { user: unverified, demandsVerified: true, deliveries }
    expect(codes(known)).to.deep.equal(['mail_failed', 'not_verified'])
    expect(causes(known)[0]).to.include({ detail: '550 no such mailbox' })
    expect(codes({ deliveries: [delivery('verification_requested', null)] })).to.deep.equal(['nothing_found'])
    const waiting = { ...(delivery('verification_requested', '451') as object), state: 'waiting' } as never // safe: as the others
    expect(codes({ deliveries: [waiting] })).to.deep.equal(['mail_waits'])
    const toFormer = [delivery('verification_requested', '550', aUser().email)]
    expect(codes({ deliveries: toFormer })).to.deep.equal(['nothing_found'])
  })

  it('name the limit that is reached, and the factor that the settings demand', () => {
    const limit = { limit: 'factorsPerAccount', of: 'strangers', purpose: null, points: 10, most: 10 } as const
    const reached = causes({ limits: [{ ...limit, isReached: true, until: at(900) }] })
    expect(reached[0]).to.deep.include({ code: 'limit_reached', detail: 'factorsPerAccount', until: at(900) })
    expect(codes({ limits: [{ ...limit, isReached: false, until: at(900) }] })).to.deep.equal(['nothing_found'])
    expect(codes({}, { secondFactor: 'required' })).to.deep.equal(['second_factor_missing'])
    expect(codes({}, { secondFactor: 'superusers' })).to.deep.equal(['nothing_found'])
  })

  it('take every reason of a refusal', () => {
    for (const reason of refusedReasons) expect(codes({ refusals: refused(reason) }), reason).to.have.length.above(0)
  })
})
