import { expect } from 'chai'
import {
  doubtsOfFormer,
  endOf,
  type FormerSettings,
  objectionsToFormer,
  usualEnd,
  usualEndInWords,
} from '../../../src/adapters/credentials/former-options.ts'

const now = new Date('2026-11-27T12:00:00Z')
const faults = (settings: Parameters<typeof objectionsToFormer>[0]) => [...objectionsToFormer(settings, now)]

describe('the settings for tokens of fastapi-users', () => {
  it('need no last day: then the end is 30 days after the first one', () => {
    expect(faults({ jwtSecret: 'a' })).to.deep.equal([])
    const end = usualEnd('2026-11-27')
    expect(end).to.deep.equal(endOf('2026-12-27'))
    const told = (settings: FormerSettings, at: Date | null, time = now) => usualEndInWords(settings, at, time)
    expect(told({}, end)).to.equal(null)
    expect(told({ jwtSecret: 'a', until: '2026-12-31' }, end)).to.equal(null)
    expect(told({ jwtSecret: 'a' }, null)?.text).to.contain('for 30 days from the first start')
    expect(told({ jwtSecret: 'a' }, end)).to.deep.equal({
      isOver: false,
      text: 'logins and links of fastapi-users go on until 2026-12-27',
    })
    expect(told({ jwtSecret: 'a', resetSecret: 'b' }, end, end ?? now)).to.deep.equal({
      isOver: true,
      text: 'logins and links of fastapi-users have ended on 2026-12-27: remove compat.jwtSecret, compat.resetSecret',
    })
  })

  it('take a day of the calendar, at most 90 days ahead', () => {
    expect(faults({ until: '2027-02-25' })).to.deep.equal([])
    expect(faults({ until: '2027-02-26' })).to.deep.equal([['until', 'must be within the next 90 days']])
    expect(faults({ until: '2027-02-29' })).to.deep.equal([['until', 'is no day of the calendar']])
    expect(faults({ until: '2027-13-01' })).to.deep.equal([['until', 'is no day of the calendar']])
    expect(endOf('2026-12-31')).to.deep.equal(new Date('2027-01-01T00:00:00Z'))
  })

  it('name what to remove once the day has passed', () => {
    const settings = { until: '2026-11-26', jwtSecret: 'a', resetSecret: 'b' }
    expect(faults(settings)).to.deep.equal([])
    const doubt = 'compat.until has passed: remove compat.until, compat.jwtSecret, compat.resetSecret'
    expect(doubtsOfFormer(settings, now)).to.deep.equal([doubt])
    const longer = { jwtSecret: 'a'.repeat(16), until: '2026-11-27' }
    expect(doubtsOfFormer(longer, now)).to.deep.equal([])
  })

  it('tell of a secret that somebody may guess, such as that of the documents', () => {
    const [doubt, ...others] = doubtsOfFormer(
      { until: '2026-11-27', jwtSecret: 'SECRET', resetSecret: 'a'.repeat(16) },
      now,
    )
    expect(doubt).to.match(/^compat\.jwtSecret: short, so somebody may guess it/)
    expect(others).to.deep.equal([])
    expect(doubtsOfFormer({ jwtSecret: 'SECRET' }, now)).to.deep.equal([doubt])
  })
})
