import { expect } from 'chai'
import fc from 'fast-check'
import type { Email } from '../../src/domain/email.ts'
import { isHashable, isOversized, normalisePassword, passwordObjection } from '../../src/domain/password.ts'

const email = 'King.Arthur@camelot.bt' as Email
const policy = { minLength: 8, isCommon: (lowerCased: string) => lowerCased === 'correct horse' }
const objection = (password: string) => passwordObjection(password, email, policy)

describe('a new password', () => {
  it('is counted in code points', () => {
    expect(objection('1234567')).to.equal('Password should be at least 8 characters')
    expect(objection('12345678')).to.equal(null)
    expect(objection('🙂'.repeat(7))).to.equal('Password should be at least 8 characters')
    expect(objection('🙂'.repeat(8))).to.equal(null)
    expect(objection('e\u0301'.repeat(7))).to.equal('Password should be at least 8 characters')
    expect(objection('e\u0301'.repeat(8))).to.equal(null)
  })

  it('has at most 1 024 bytes', () => {
    expect(objection('x'.repeat(1024))).to.equal(null)
    expect(objection('x'.repeat(1025))).to.equal('Password should be at most 1024 bytes')
    expect(objection('é'.repeat(512))).to.equal(null)
    expect(objection(`${'é'.repeat(512)}x`)).to.equal('Password should be at most 1024 bytes')
  })

  it('is refused at a megabyte without being hashed or searched', () => {
    const began = performance.now()
    expect(objection('é'.repeat(500_000))).to.equal('Password should be at most 1024 bytes')
    expect(performance.now() - began).to.be.lessThan(1_000)
  })

  it('differs from the address and its local part, in any case', () => {
    for (const password of ['king.arthur@camelot.bt', 'KING.ARTHUR@CAMELOT.BT', 'King.Arthur', 'kING.aRTHUR']) {
      expect(objection(password), password).to.match(/should not be the e-mail address/)
    }
    expect(objection('king.arthur1')).to.equal(null)
    for (const password of ['zz@münchen.de', 'ZZ@xn--mnchen-3ya.de']) {
      expect(passwordObjection(password, 'zz@münchen.de' as Email, policy), password).to.match(
        /should not be the e-mail/,
      )
    }
  })

  it('is not a common password, in any case, but may contain one', () => {
    expect(objection('CORRECT horse')).to.equal('Password is one of the most common ones')
    expect(objection('correct horse battery')).to.equal(null)
  })

  it('may consist of any characters, and spaces count', () => {
    expect(objection('aaaaaaaaaaaaaaa')).to.equal(null)
    expect(objection('        ')).to.equal(null)
    expect(objection(' 123456 ')).to.equal(null)
    expect(objection('\u0000'.repeat(8))).to.equal(null)
  })

  it('contains no lone surrogate, which would be hashed as another character', () => {
    expect(objection('12345678\ud800')).to.match(/not valid Unicode/)
    expect(objection('\udc0012345678')).to.match(/not valid Unicode/)
    expect(isHashable('12345678\ud83d\ude42')).to.equal(true)
  })

  it('is never repeated in an objection (1 000 passwords)', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 9, maxLength: 1200 }), (password) => {
        const words = passwordObjection(password, password as Email, { minLength: 1300, isCommon: () => true })
        expect(words).to.be.a('string').and.not.include(password)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('normalising a password', () => {
  it('is NFC and nothing else', () => {
    expect(normalisePassword('e\u0301')).to.equal('é')
    expect(normalisePassword('ﬁ ﬀ Ａ ')).to.equal('ﬁ ﬀ Ａ ')
    expect(normalisePassword(' aB\u0000\t')).to.equal(' aB\u0000\t')
  })

  it('makes only canonically equivalent passwords equal (2 000 pairs)', () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 })
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(normalisePassword(one.normalize('NFD'))).to.equal(normalisePassword(one))
        expect(normalisePassword(one) === normalisePassword(other)).to.equal(
          one.normalize('NFD') === other.normalize('NFD'),
        )
      }),
      { numRuns: 2000 },
    )
  })

  it('needs no password over the size limit', () => {
    expect(isOversized('x'.repeat(1024))).to.equal(false)
    expect(isOversized('x'.repeat(1025))).to.equal(true)
    expect(isOversized('🙂'.repeat(257))).to.equal(true)
    expect(isHashable('x'.repeat(1025))).to.equal(false)
  })
})
