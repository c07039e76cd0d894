import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import Type, { type TProperties } from 'typebox'
import Value from 'typebox/value'
import { oauth2Kind } from '../../../src/adapters/oauth/oauth2.ts'
import { openIdConnectKind } from '../../../src/adapters/oauth/openid-connect-kind.ts'
import { isSecure } from '../../../src/adapters/oauth/outbound.ts'
import { appleKind } from '../../../src/adapters/oauth/presets/apple.ts'
import { microsoftKind } from '../../../src/adapters/oauth/presets/microsoft.ts'
import { oktaKind } from '../../../src/adapters/oauth/presets/okta.ts'
import { shopifyKind } from '../../../src/adapters/oauth/presets/shopify.ts'

const client = { clientId: 'us', clientSecret: 'secret' }
const fits = (options: TProperties, given: object) => {
  const schema = Type.Object(options)
  return Value.Check(schema, Value.Default(schema, structuredClone(given)))
}

describe('the options of providers', () => {
  it('have a default wherever the settings may leave one out', () => {
    const urls = {
      authorizeUrl: 'https://a.example/a',
      tokenUrl: 'https://a.example/t',
      profileUrl: 'https://a.example/p',
    }
    const schema = Type.Object(oauth2Kind.options)
    expect(Value.Default(schema, { ...client, ...urls, profile: {} })).to.deep.include({
      scopes: [],
      profile: { accountId: 'id', email: 'email', emailVerified: 'email_verified', integerAccountId: false },
    })
    expect(fits(openIdConnectKind.options, { ...client, claims: {}, issuer: 'https://id.example' })).to.equal(true)
    const withoutSecret = { ...client, clientSecret: '', issuer: 'https://id.example' }
    expect(fits(openIdConnectKind.options, withoutSecret)).to.equal(false)
  })

  for (const [address, isGood] of [
    ['https://id.example', true],
    ['http://localhost:4000', true],
    ['http://127.0.0.1:4000/x', true],
    ['http://127.1', true],
    ['http://[::1]:4000', true],
    ['http://id.example', false],
    ['http://127.0.0.1.example', false],
    ['http://localhost.example', false],
    ['http://169.254.169.254/latest', false],
    ['http://0.0.0.0', false],
    ['ftp://id.example', false],
    ['javascript:alert(1)', false],
    ['id.example', false],
    ['', false],
  ] as const) {
    it(`${isGood ? 'take' : 'refuse'} the address ${address || '(none)'}`, () => {
      expect(isSecure(address)).to.equal(isGood)
      expect(fits(openIdConnectKind.options, { ...client, claims: {}, issuer: address })).to.equal(isGood)
    })
  }

  it('refuse an address with a fragment, and several scopes in one string', () => {
    expect(fits(openIdConnectKind.options, { ...client, issuer: 'https://id.example#x' })).to.equal(false)
    for (const scopes of [['a b'], [''], ['a"b'], ['a\nb'], ['é']]) {
      expect(fits(openIdConnectKind.options, { ...client, issuer: 'https://id.example', scopes })).to.equal(false)
    }
  })

  it('refuse another host in place of a shop, a tenant or a domain', () => {
    for (const wrong of ['evil.example/', 'a@evil.example', 'a.evil.example#', '../x', 'a b', '']) {
      expect(fits(shopifyKind.options, { ...client, shop: wrong }), wrong).to.equal(false)
      expect(fits(microsoftKind.options, { ...client, claims: {}, tenant: wrong }), wrong).to.equal(false)
      expect(fits(oktaKind.options, { ...client, domain: wrong }), wrong).to.equal(false)
    }
    expect(fits(shopifyKind.options, { ...client, shop: 'ada.evil' })).to.equal(false)
    expect(fits(shopifyKind.options, { ...client, shop: 'ada-shop' })).to.equal(true)
    expect(fits(microsoftKind.options, { ...client, claims: {} })).to.equal(true)
    expect(fits(oktaKind.options, { ...client, domain: 'ada.okta.com' })).to.equal(true)
  })

  it('accept a key of Apple and no other', () => {
    const pem = (pair: { privateKey: import('node:crypto').KeyObject }) =>
      pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const apple = { clientId: 'us', teamId: 'DEF123GHIJ', keyId: 'ABC123DEFG' }
    const withKey = (privateKey: string) => fits(appleKind.options, { ...apple, privateKey })
    expect(withKey(pem(generateKeyPairSync('ec', { namedCurve: 'P-256' })))).to.equal(true)
    expect(withKey(pem(generateKeyPairSync('ec', { namedCurve: 'P-384' })))).to.equal(false)
    expect(withKey(pem(generateKeyPairSync('rsa', { modulusLength: 2048 })))).to.equal(false)
    expect(withKey('secret')).to.equal(false)
  })
})
