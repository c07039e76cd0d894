import { domainToUnicode } from 'node:url'
import { expect } from 'chai'
import fc from 'fast-check'
import { emailKey, parseEmail } from '../../src/domain/email.ts'
import { isLoginName, loginNameKey } from '../../src/domain/login-name.ts'

describe('a login name', () => {
  it('has one key for all its spellings', () => {
    for (const text of ['Οδυσσεύς', ' ΟΔΥΣΣΕΎΣ\u00a0', 'Οδυσσευ\u0301ς', '\u200eοδυσσεύσ']) {
      expect(loginNameKey(text), text).to.equal('οδυσσεύσ')
    }
  })

  it('has no @-sign in any form, is not empty, and is well-formed', () => {
    for (const text of ['', ' ', 'a@b', '@', 'a＠b', 'a﹫b', '\u00a0\u200f', 'a\0', 'a\ud800']) {
      expect(loginNameKey(text), JSON.stringify(text)).to.equal(null)
    }
  })

  it('is judged in linear time, whatever its length', () => {
    const marks = `a${'\u0300'.repeat(50_000)}${'\u0323'.repeat(50_000)}` // normalisation sorts them
    const began = performance.now()
    expect(loginNameKey(marks)).to.equal(null)
    expect(isLoginName(marks)).to.equal(false)
    expect(performance.now() - began).to.be.below(5_000) // quadratic: half a minute
  })

  it('is never the key of an address, and every value that fits is found by its spellings (2 000 texts)', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.emailAddress()), (text) => {
        const key = loginNameKey(text)
        const parsed = parseEmail(text, domainToUnicode)
        if ('email' in parsed) expect(key).to.equal(null)
        if (key === null) return
        expect(key).to.not.include('@')
        expect(emailKey(`${key}@example.com` as never)).to.not.equal(key)
        if (isLoginName(text)) expect(loginNameKey(` ${text.normalize('NFD')} `)).to.equal(key)
      }),
      { numRuns: 2000 },
    )
  })
})
