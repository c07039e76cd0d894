import { expect } from 'chai'
import { factorCodes } from '../../../src/adapters/factors/factor-codes.ts'
import { qrCode } from '../../../src/adapters/factors/qr-code.ts'

/** `12345678901234567890` in base32: the secret of RFC 6238 appendix B. */
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const codes = factorCodes('Acme')
/** The code as people and programs separate its parts. */
const pasted = (first: string, second: string) =>
  [' ', '\t', '\n', '\u00a0', '\u202f', '-', '\u2011', '\u2013', '\u2212', '\u200b'].map(
    (between) => `${between}${first}${between}${second}\r\n`,
  )
const at = (seconds: number) => new Date(seconds * 1000)

describe('the codes of second factors', () => {
  it('are those of RFC 6238 appendix B, of which authenticator apps show the last six digits', async () => {
    for (const [seconds, code] of [
      [59, '287082'],
      [1_111_111_109, '081804'],
      [1_111_111_111, '050471'],
      [1_234_567_890, '005924'],
      [2_000_000_000, '279037'],
      [20_000_000_000, '353130'],
    ] as const) {
      expect(await codes.totpStep(secret, code, at(seconds))).to.equal(Math.floor(seconds / 30))
    }
  })

  it('count for the step before and after, with the step that they belong to, and no further', async () => {
    const code = '005924'
    const step = Math.floor(1_234_567_890 / 30)
    for (const distance of [-1, 0, 1]) {
      expect(await codes.totpStep(secret, code, at(1_234_567_890 + 30 * distance))).to.equal(step)
    }
    for (const distance of [-2, 2]) {
      expect(await codes.totpStep(secret, code, at(1_234_567_890 + 30 * distance))).to.equal(null)
    }
  })

  it('may have white space and dashes of any kind, and are nothing else than six digits', async () => {
    for (const typed of pasted('005', '924')) {
      expect(await codes.totpStep(secret, typed, at(1_234_567_890)), JSON.stringify(typed)).to.be.a('number')
    }
    for (const code of ['', '5924', '00592', '0005924', '+05924', '5924.0', '００５９２４', 'x'.repeat(10_000)]) {
      expect(await codes.totpStep(secret, code, at(1_234_567_890)), code).to.equal(null)
    }
  })

  it('have a random secret, whose address names service and account', async () => {
    const made = codes.newTotpSecret()
    expect(made)
      .to.match(/^[A-Z2-7]{32}$/)
      .and.not.equal(codes.newTotpSecret())
    const address = new URL(await codes.totpAddress(made, 'ada+x@example.com'))
    expect(decodeURIComponent(address.pathname)).to.equal('/Acme:ada+x@example.com')
    expect(Object.fromEntries(address.searchParams)).to.deep.include({ secret: made, issuer: 'Acme', period: '30' })
    expect(await qrCode(address.href)).to.match(/^<svg [^>]*viewBox.*<\/svg>$/s)
  })

  it('have an address in which the colon only separates service and account', async () => {
    const address = new URL(await factorCodes('Acme: the shop').totpAddress(secret, '"a:b"@example.com'))
    expect(decodeURIComponent(address.pathname)).to.equal('/Acme the shop:"a b"@example.com')
    expect(address.searchParams.get('issuer')).to.equal('Acme the shop')
  })

  it('recover an account by digests that depend on the key of their set', () => {
    const [one, other] = [codes.newRecoveryCodes(), codes.newRecoveryCodes()]
    const [code = ''] = one.codes
    expect(codes.recoveryDigest(one.key, code)).to.match(/^[\w-]{43}$/)
    const [first = '', second = ''] = code.toUpperCase().split('-')
    for (const typed of pasted(first, second)) {
      expect(codes.recoveryDigest(one.key, typed), JSON.stringify(typed)).to.equal(codes.recoveryDigest(one.key, code))
    }
    expect(codes.recoveryDigest(other.key, code)).to.not.equal(codes.recoveryDigest(one.key, code))
  })
})
