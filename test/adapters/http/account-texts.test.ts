import { expect } from 'chai'
import { de } from '../../../src/adapters/http/pages/account/texts/de.ts'
import type { Email } from '../../../src/domain/email.ts'
import { passwordObjection } from '../../../src/domain/password.ts'

describe('the German texts of the account pages', () => {
  it('have exactly one text for each reason to refuse a password', () => {
    const policy = { minLength: 8, isCommon: (password: string) => password === 'iloveyou' }
    const passwords = ['short', 'x'.repeat(2000), '\ud800 is half a character', 'somebody@example.com', 'iloveyou']
    const reasons = passwords.map((password) => passwordObjection(password, 'somebody@example.com' as Email, policy)) // safe: it is one
    expect(reasons).to.not.include(null)
    expect(new Set(reasons)).to.have.property('size', passwords.length)
    const texts = reasons.map((reason) =>
      de.script.reasons.filter(([pattern]) => new RegExp(pattern).test(String(reason))),
    )
    expect(texts.map(({ length }) => length)).to.deep.equal(passwords.map(() => 1))
    expect(texts).to.have.lengthOf(de.script.reasons.length)
  })
})
