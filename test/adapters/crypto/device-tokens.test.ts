import { expect } from 'chai'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { deviceTokenSeconds, deviceTokens } from '../../../src/adapters/crypto/device-tokens.ts'
import type { EmailKey } from '../../../src/domain/email.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { goodSecret } from '../../support/services/settings.ts'

const ada = 'ada@example.com' as EmailKey // safe: both are addresses
const grace = 'grace@example.com' as EmailKey

function scene({ secret = goodSecret, tenant = null }: { secret?: string; tenant?: string | null } = {}) {
  const clock = fixedClock()
  return { clock, tokens: deviceTokens(derivedKeys(secret, tenant).deviceTokenKey, clock) }
}

describe('a device token', () => {
  it('proves its id for its account, for a year', () => {
    const { clock, tokens } = scene()
    const token = tokens.issue(ada)
    const id = tokens.idOf(token, ada)
    expect(id).to.match(/^[\w-]{22}$/)
    expect(token.startsWith(`${id}.`)).to.equal(true)
    clock.advance(deviceTokenSeconds - 1)
    expect(tokens.idOf(token, ada)).to.equal(id)
    clock.advance(1)
    expect(tokens.idOf(token, ada)).to.equal(null)
  })

  it('stays beside those of the last four other accounts', () => {
    const { tokens } = scene()
    const accounts = Array.from({ length: 6 }, (_, at) => `person${at}@example.com` as EmailKey) // safe: they are addresses
    let text = 'junk~junk~junk~junk~junk'
    for (const account of accounts) text = tokens.issue(account, text)
    expect(accounts.map((one) => tokens.idOf(text, one) !== null)).to.deep.equal([false, true, true, true, true, true])
    const [, second, ...others] = accounts
    const before = tokens.idOf(text, second as EmailKey)
    const again = tokens.issue(second as EmailKey, text)
    expect(tokens.idOf(again, second as EmailKey)).to.not.equal(before)
    for (const one of others) expect(tokens.idOf(again, one)).to.equal(tokens.idOf(text, one))
    expect(again.split('~')).to.have.length(5)
    const left = tokens.without(again, second as EmailKey)
    expect(left.split('~').map((one) => one.length)).to.deep.equal(Array(4).fill(left.split('~')[0]?.length))
    expect(tokens.idOf(left, second as EmailKey)).to.equal(null)
    expect(tokens.without('junk', ada)).to.equal('')
  })

  it('differs each time, and does not contain the address', () => {
    const { tokens } = scene()
    const issued = Array.from({ length: 100 }, () => tokens.issue(ada))
    expect(new Set(issued.map((token) => tokens.idOf(token, ada))).size).to.equal(100)
    for (const token of issued) expect(token).to.match(/^[\w-]{22}\.\d{10}\.[\w-]{43}$/)
  })

  it('proves nothing for another account, secret or tenant', () => {
    const { tokens } = scene()
    const token = tokens.issue(ada)
    expect(tokens.idOf(token, grace)).to.equal(null)
    expect(scene({ secret: `${goodSecret}!` }).tokens.idOf(token, ada)).to.equal(null)
    expect(scene({ tenant: 'acme' }).tokens.idOf(token, ada)).to.equal(null)
  })

  it('proves nothing after a change of any character, and neither does any other text', () => {
    const { tokens } = scene()
    const token = tokens.issue(ada)
    const others = [...token].map(
      (character, at) => `${token.slice(0, at)}${character === '1' ? '2' : '1'}${token.slice(at + 1)}`,
    )
    const [id = '', expiry = '', mac = ''] = token.split('.')
    const texts = [
      '',
      '.',
      '..',
      '...',
      token.slice(1),
      `${token}.`,
      `${token}=`,
      `${id}.${Number(expiry) + 1}.${mac}`,
      `${id}..${mac}`,
      'ü'.repeat(10_000),
    ]
    for (const text of [...others, ...texts]) expect(tokens.idOf(text, ada), text).to.equal(null)
  })
})
