import { expect } from 'chai'
import type { Email, EmailKey } from '../../src/domain/email.ts'
import { factOf, factText, newAddressFact, parseFact, stands } from '../../src/domain/one-time-token.ts'
import { aUser } from '../../src/testing/builders.ts'

describe('the fact of a one-time token', () => {
  const user = aUser({ email: 'Ada@bücher.example' as Email, passwordVersion: 12 }) // safe, as below: they are addresses
  const { generation } = user.sessions
  const facts = [
    factOf('verify_email', user),
    factOf('reset_password', user),
    newAddressFact(user, 'Jöhn+new:1@example.com' as Email),
  ]

  it('has the text of earlier releases, from which the tokens of mailed links are derived', () => {
    expect(facts.map(factText)).to.deep.equal([
      'email:ada@xn--bcher-kva.example',
      'password:12 email:ada@xn--bcher-kva.example',
      `generation:${generation} email:ada@xn--bcher-kva.example new:Jöhn+new:1@example.com`,
    ])
  })

  it('is read from its text', () => {
    expect(facts.map((fact) => parseFact(factText(fact)))).to.deep.equal(facts)
    const odd = { email: 'new:a@x.example' as EmailKey, generation: 1, newEmail: 'email:b@x.example' as Email }
    expect(parseFact(factText(odd))).to.deep.equal(odd)
  })

  it('is true for its address, and its password or generation', () => {
    const standing = (of: typeof user) => facts.map((fact) => stands({ fact }, of))
    expect(standing(user)).to.deep.equal([true, true, true])
    expect(standing({ ...user, email: 'ADA@bücher.example' as Email })).to.deep.equal([true, true, true])
    expect(standing({ ...user, email: 'eve@bücher.example' as Email })).to.deep.equal([false, false, false])
    expect(standing({ ...user, passwordVersion: 13 })).to.deep.equal([true, false, true])
    const sessions = { ...user.sessions, generation: generation + 1 }
    expect(standing({ ...user, sessions })).to.deep.equal([true, true, false])
  })
})
