import { expect } from 'chai'
import type { Email } from '../../src/domain/email.ts'
import { isHashable, normalisePassword, passwordObjection } from '../../src/domain/password.ts'

const email = 'King.Arthur@camelot.bt' as Email
const policy = { minLength: 8, isCommon: (lowerCased: string) => lowerCased === 'correct horse' }
const objection = (password: string) => passwordObjection(password, email, policy)

describe('a new password', () => {
  it('is counted in code points', () => {
    const short = { rule: 'too_short', reason: 'Password should be at least 8 characters' }
    expect(objection('1234567')).to.deep.equal(short)
    expect(objection('12345678')).to.equal(null)
    expect(objection('🙂'.repeat(7))).to.deep.equal(short)
    expect(objection('🙂'.repeat(8))).to.equal(null)
    expect(objection('e\u0301'.repeat(7))).to.deep.equal(short)
    expect(objection('e\u0301'.repeat(8))).to.equal(null)
  })

  it('has at most 1 024 bytes', () => {
    const long = { rule: 'too_long', reason: 'Password should be at most 1024 bytes' }
    expect(objection('x'.repeat(1024))).to.equal(null)
    expect(objection('x'.repeat(1025))).to.deep.equal(long)
    expect(objection('é'.repeat(512))).to.equal(null)
    expect(objection(`${'é'.repeat(512)}x`)).to.deep.equal(long)
  })

  it('differs from the address and its local part, in any case', () => {
    for (const password of ['king.arthur@camelot.bt', 'KING.ARTHUR@CAMELOT.BT', 'King.Arthur', 'kING.aRTHUR']) {
      expect(objection(password), password).to.include({ rule: 'contains_email' })
    }
    expect(objection('king.arthur1')).to.equal(null)
    for (const password of ['zz@münchen.de', 'ZZ@xn--mnchen-3ya.de']) {
      expect(passwordObjection(password, 'zz@münchen.de' as Email, policy), password).to.include({
        rule: 'contains_email',
      })
    }
  })

  it('is not a common password, in any case, but may contain one', () => {
    expect(objection('CORRECT horse')).to.include({ rule: 'common' })
    expect(objection('correct horse battery')).to.equal(null)
  })

  it('may consist of any characters, and spaces count', () => {
    expect(objection('aaaaaaaaaaaaaaa')).to.equal(null)
    expect(objection('        ')).to.equal(null)
    expect(objection(' 123456 ')).to.equal(null)
    expect(objection('\u0000'.repeat(8))).to.equal(null)
  })

  it('contains no lone surrogate, which would be hashed as another character', () => {
    expect(objection('12345678\ud800')).to.include({ rule: 'invalid_unicode' })
    expect(objection('\udc0012345678')).to.include({ rule: 'invalid_unicode' })
    expect(isHashable('12345678\ud83d\ude42')).to.equal(true)
  })
})

describe('normalising a password', () => {
  it('is NFC and nothing else', () => {
    expect(normalisePassword('e\u0301')).to.equal('é')
    expect(normalisePassword('ﬁ ﬀ Ａ ')).to.equal('ﬁ ﬀ Ａ ')
    expect(normalisePassword(' aB\u0000\t')).to.equal(' aB\u0000\t')
  })

  it('is skipped for a password over the size limit', () => {
    expect(isHashable('x'.repeat(1024))).to.equal(true)
    expect(isHashable('x'.repeat(1025))).to.equal(false)
    expect(isHashable('🙂'.repeat(257))).to.equal(false)
  })
})
