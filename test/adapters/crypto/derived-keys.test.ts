import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { derivedKeys, newToken, secretMark } from '../../../src/adapters/crypto/derived-keys.ts'
import type { EmailKey } from '../../../src/domain/email.ts'
import type { EventId, UserId } from '../../../src/domain/ids.ts'

const master = randomBytes(32)
const keyRing = derivedKeys(master)
const others = derivedKeys(randomBytes(32))
const event = '01890a5d-ac96-774b-bcce-b302099a8057' as EventId
const user = '01890a5d-ac96-774b-bcce-b302099a8058' as UserId
const key = 'king.arthur@camelot.bt' as EmailKey

describe('the digest of a token', () => {
  it('is its SHA-256 in base64url', () => {
    expect(keyRing.digest('abc')).to.equal(createHash('sha256').update('abc').digest('base64url'))
  })
})

describe('the token of an event', () => {
  it('differs for another purpose, event, user, fact or secret', () => {
    const tokens = [
      keyRing.tokenFor('reset_password', event, user, 'password:1'),
      keyRing.tokenFor('verify_email', event, user, 'password:1'),
      keyRing.tokenFor('reset_password', event.replace('8057', '8059') as EventId, user, 'password:1'),
      keyRing.tokenFor('reset_password', event, user, 'password:2'),
      keyRing.tokenFor('reset_password', event, 'other' as UserId, 'password:1'),
      keyRing.tokenFor('reset_password', event, user, 'password:11'),
      others.tokenFor('reset_password', event, user, 'password:1'),
    ]
    expect(new Set(tokens).size).to.equal(tokens.length)
  })

  it('is always the same, made with a key that HKDF derives from the secret', () => {
    const derived = Buffer.from(hkdfSync('sha256', master, '', 'portcullis reset_password', 32))
    const framed = Buffer.concat(
      [event, user, 'password:1'].flatMap((field) => [Buffer.from([0, 0, 0, field.length]), Buffer.from(field)]),
    )
    const token = createHmac('sha256', derived).update(framed).digest('base64url')
    expect(keyRing.tokenFor('reset_password', event, user, 'password:1')).to.equal(token)
  })
})

describe('the id of a request', () => {
  it('is the same for an address and purpose, and reveals nothing without the secret', () => {
    expect(keyRing.requestId('verify_email', key)).to.equal(keyRing.requestId('verify_email', key))
    const ids = [
      keyRing.requestId('verify_email', key),
      keyRing.requestId('reset_password', key),
      keyRing.requestId('verify_email', `x${key}` as EmailKey),
      others.requestId('verify_email', key),
    ]
    expect(new Set(ids).size).to.equal(4)
  })
})

describe('a sealed address', () => {
  it('differs each time, always has the same length, and does not contain the address', () => {
    const sealed = ['a@b.cd', key, `${'İ'.repeat(32)}@${'x'.repeat(180)}.example`].flatMap((address) =>
      Array.from({ length: 10 }, () => keyRing.sealEmail(address as EmailKey, 'r')),
    )
    expect(new Set(sealed).size).to.equal(30)
    expect(new Set(sealed.map((one) => one.length)).size).to.equal(1)
    for (const one of sealed) expect(Buffer.from(one, 'base64url').includes('camelot')).to.equal(false)
    expect(keyRing.unsealEmail(sealed.at(-1) ?? '', 'r')).to.match(/^İ{32}@x{180}\.example$/)
  })

  it('opens neither for another request nor with another secret', () => {
    const sealed = keyRing.sealEmail(key, 'r')
    expect(keyRing.unsealEmail(sealed, 'r')).to.equal(key)
    expect(keyRing.unsealEmail(sealed, 'R')).to.equal(null)
    expect(others.unsealEmail(sealed, 'r')).to.equal(null)
  })
})

describe('a sealed secret of a second factor', () => {
  it('opens neither for another binding nor with another secret', () => {
    const sealed = keyRing.sealFactor('JBSWY3DP', `totp of ${user}`)
    expect(Buffer.from(sealed, 'base64url').includes('JBSWY3DP')).to.equal(false)
    expect(keyRing.unsealFactor(sealed, `totp of ${user}`)).to.equal('JBSWY3DP')
    expect(keyRing.unsealFactor(sealed, `recovery of ${user}`)).to.equal(null)
    expect(others.unsealFactor(sealed, `totp of ${user}`)).to.equal(null)
    expect(keyRing.unsealFactor('no sealed text', `totp of ${user}`)).to.equal(null)
  })
})

describe('the mark of the secret', () => {
  it('is the same for the same secret only, and is not the secret', () => {
    expect(secretMark(master)).to.equal(createHmac('sha256', master).update('portcullis check').digest('base64url'))
    expect(secretMark('x'.repeat(32))).not.to.equal(secretMark('x'.repeat(33)))
  })
})

describe('the key of JWTs', () => {
  it('is a key of 32 bytes, the same at each start', () => {
    expect(keyRing.jwtKey.symmetricKeySize).to.equal(32)
    expect(derivedKeys(Buffer.from(master)).jwtKey.equals(keyRing.jwtKey)).to.equal(true)
    expect(others.jwtKey.equals(keyRing.jwtKey)).to.equal(false)
    expect(keyRing.jwtKey.export().equals(master)).to.equal(false)
  })
})

describe('a new token', () => {
  it('is 32 random bytes in base64url (10 000 without a repetition)', () => {
    const tokens = Array.from({ length: 10_000 }, newToken)
    expect(new Set(tokens).size).to.equal(10_000)
    expect(tokens.every((token) => /^[\w-]{43}$/.test(token))).to.equal(true)
  })
})
