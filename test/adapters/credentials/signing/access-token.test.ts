import {
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  randomUUID,
  sign,
} from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { jwtCredentials } from '../../../../src/adapters/credentials/jwt.ts'
import type { KeyAlgorithm } from '../../../../src/adapters/credentials/signing/algorithms.ts'
import type { JwtAlgorithm } from '../../../../src/adapters/credentials/signing/options.ts'
import { type SigningKeys, signingKeys } from '../../../../src/adapters/credentials/signing/signing-keys.ts'
import { derivedKeys } from '../../../../src/adapters/crypto/derived-keys.ts'
import { memoryExpiringMarks } from '../../../../src/adapters/stores/memory/expiring-marks.ts'
import { memoryTenantTexts } from '../../../../src/adapters/stores/memory/tenant-texts.ts'
import { aUser } from '../../../../src/testing/builders.ts'
import { fixedClock } from '../../../../src/testing/fixed-clock.ts'

const keyRing = derivedKeys(randomBytes(32))
const clock = fixedClock(new Date('2030-01-01T00:00:00Z'))
const now = clock().getTime() / 1000
const user = aUser()
const proof = { at: clock(), methods: ['pwd'] }

function keysFor(wanted: readonly KeyAlgorithm[], texts = memoryTenantTexts(), ofClock = clock): SigningKeys {
  return signingKeys({
    texts,
    seal: keyRing.sealSigningKey,
    unseal: keyRing.unsealSigningKey,
    wanted,
    wantedIfNew: null,
    cacheSeconds: 600,
    rotateDays: 90,
    tokenSeconds: 3600,
    clock: ofClock,
    added: () => undefined,
  })
}

function credentialsOf(keys: SigningKeys, algorithm: JwtAlgorithm, ofClock = clock) {
  const issuer = 'https://accounts.example.com'
  return jwtCredentials({
    key: keyRing.jwtKey,
    signing: { keys, algorithm, issuer, client: 'jwt' },
    audience: 'portcullis:auth',
    tenant: 'default',
    lifetimeSeconds: 3600,
    expiringMarks: memoryExpiringMarks(ofClock),
    clock: ofClock,
    newId: randomUUID,
  })
}

const encoded = (part: unknown): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')
const decoded = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString())

for (const alg of ['EdDSA', 'ES256', 'RS256'] as const) {
  describe(`an access token of ${alg}`, () => {
    const keys = keysFor([alg])
    const credentials = credentialsOf(keys, alg)

    it('has the header and the claims of RFC 9068, and is read as it was issued', async () => {
      const { value, credential } = await credentials.issue(user, proof)
      const [header, payload] = value.split('.').map((part, at) => (at < 2 ? decoded(part) : part))
      const [jwk] = await keys.published()
      expect(header).to.deep.equal({ alg, kid: jwk?.kid, typ: 'at+jwt' })
      expect(payload).to.deep.equal({
        iss: 'https://accounts.example.com',
        aud: 'portcullis:auth',
        sub: user.id,
        client_id: 'jwt',
        iat: now,
        exp: now + 3600,
        jti: credential.id,
        gen: user.sessions.generation,
        tenant: 'default',
        sid: credential.id,
        auth_time: now,
        amr: ['pwd'],
        acr: '1',
      })
      expect(await credentials.read(value)).to.deep.equal(credential)
      expect(await credentials.read(value)).to.deep.equal(credential)
      expect(await credentialsOf(keys, 'HS256').read(value)).to.deep.equal(credential)
    })

    it('is read before its end only, also if it was read before', async () => {
      const ticking = fixedClock(clock())
      const own = credentialsOf(keysFor([alg], memoryTenantTexts(), ticking), alg, ticking)
      const { value } = await own.issue(user, proof)
      ticking.advance(3599)
      expect(await own.read(value)).not.to.equal(null)
      ticking.advance(1)
      expect(await own.read(value)).to.equal(null)
    })
  })
}

it('a JWT of HS256 stays genuine when the backend signs with a pair of keys', async () => {
  const keys = keysFor(['EdDSA'])
  const { value, credential } = await credentialsOf(keys, 'HS256').issue(user, proof)
  expect(decoded(value.split('.')[0])).to.deep.equal({ alg: 'HS256', typ: 'JWT' })
  expect(await credentialsOf(keys, 'EdDSA').read(value)).to.deep.equal(credential)
})

it('a token that was read is refused when its key is revoked', async () => {
  const [texts, ticking] = [memoryTenantTexts(), fixedClock(clock())]
  const keys = keysFor(['EdDSA'], texts, ticking)
  const credentials = credentialsOf(keys, 'EdDSA', ticking)
  const { value } = await credentials.issue(user, proof)
  expect(await credentials.read(value)).not.to.equal(null)
  await keysFor(['EdDSA'], texts, ticking).revoke() // by another process
  ticking.advance(15)
  expect(await credentials.read(value)).to.equal(null)
})

describe('a forged access token', () => {
  const keys = keysFor(['EdDSA', 'ES256', 'RS256'])
  const credentials = credentialsOf(keys, 'EdDSA')
  const attacks = new Map<string, string>()
  let valid = ''
  let ofOtherTenant = ''
  const attacker = generateKeyPairSync('ed25519')

  before(async () => {
    valid = (await credentials.issue(user, proof)).value
    const [head = '', body = '', signature = ''] = valid.split('.')
    const header = decoded(head)
    const claims = decoded(body)
    const signer = await keys.signer('EdDSA')
    if (signer === null) throw new Error('no signer')
    const own = (head: unknown, claims: unknown, key: KeyObject = signer.key): string => {
      const input = `${encoded(head)}.${encoded(claims)}`
      return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
    }
    expect(await credentials.read(own(header, claims)), 'the tests sign rightly').not.to.equal(null)
    const mac = (head: unknown, secret: Buffer | KeyObject): string => {
      const input = `${encoded(head)}.${body}`
      return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
    }

    for (const alg of ['none', 'None', 'NONE', '']) {
      attacks.set(`alg ${alg} without a signature`, `${encoded({ ...header, alg })}.${body}.`)
      attacks.set(`alg ${alg} with the signature`, `${encoded({ ...header, alg })}.${body}.${signature}`)
      attacks.set(`alg ${alg} with a right signature`, own({ ...header, alg }, claims))
    }
    for (const alg of [undefined, null, ['EdDSA'], 'eddsa', 'Ed25519', 'ES256', 'RS256', 'HS256', '__proto__'])
      attacks.set(`alg ${JSON.stringify(alg)} with a right signature of EdDSA`, own({ ...header, alg }, claims))

    for (const jwk of await keys.published()) {
      const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
      const head = { ...header, alg: 'HS256', kid: jwk.kid }
      for (const [form, secret] of [
        ['PEM', Buffer.from(key.export({ type: 'spki', format: 'pem' }))],
        ['DER', key.export({ type: 'spki', format: 'der' })],
        ['JWK', Buffer.from(JSON.stringify(jwk))],
        ['raw', Buffer.from(jwk.x ?? jwk.n ?? '', 'base64url')],
      ] as const) {
        attacks.set(`HS256 with the public key of ${jwk.alg} as ${form}`, mac(head, secret))
        attacks.set(`HS256 with it as ${form}, of ${jwk.alg}, without kid`, mac({ alg: 'HS256', typ: 'JWT' }, secret))
      }
      for (const typ of ['at+jwt', 'JWT'])
        attacks.set(`HS256 with the HMAC key, named ${jwk.alg}, typ ${typ}`, mac({ ...head, typ }, keyRing.jwtKey))
      if (jwk.alg !== 'EdDSA')
        attacks.set(`EdDSA under the key of ${jwk.alg}`, own({ ...header, kid: jwk.kid }, claims))
    }
    const ec = (await keys.published()).find((jwk) => jwk.alg === 'ES256')
    const zeros = Buffer.alloc(64).toString('base64url')
    attacks.set(
      'ES256 with r = s = 0 (CVE-2022-21449)',
      `${encoded({ ...header, alg: 'ES256', kid: ec?.kid })}.${body}.${zeros}`,
    )

    const jwk = attacker.publicKey.export({ format: 'jwk' })
    const byAttacker = (extra: object) => own({ ...header, ...extra }, claims, attacker.privateKey)
    attacks.set('another key under our kid', byAttacker({}))
    attacks.set('a key brought along as jwk', byAttacker({ jwk }))
    attacks.set('a key brought along as jwk, with its own kid', byAttacker({ jwk, kid: 'attacker' }))
    attacks.set('a key brought along as x5c', byAttacker({ x5c: ['AAAA'] }))
    attacks.set('a key to be fetched by jku', byAttacker({ jku: 'http://127.0.0.1:9/jwks.json' }))
    attacks.set('a key to be fetched by x5u', byAttacker({ x5u: 'http://127.0.0.1:9/cert' }))
    for (const kid of ['', '../../../dev/null', '__proto__', 'constructor', "' OR 1=1 --", '\0', 1, null, [], {}])
      attacks.set(`kid ${JSON.stringify(kid)}`, byAttacker({ kid }))
    attacks.set('kid in a list', own({ ...header, kid: [header.kid] }, claims))
    attacks.set('no kid', own({ alg: 'EdDSA', typ: 'at+jwt' }, claims))

    for (const typ of [undefined, 'JWT', 'jwt', 'AT+JWT', 'dpop+jwt', 'logout+jwt', ['at+jwt'], null])
      attacks.set(`typ ${JSON.stringify(typ)}`, own({ ...header, typ }, claims))
    for (const crit of [['x'], ['b64'], [], null, 'x', {}])
      attacks.set(`crit ${JSON.stringify(crit)}`, own({ ...header, crit, b64: false }, claims))

    for (const [claim, values] of Object.entries({
      exp: [now, now - 1, 0, `${now + 600}`, [now + 600], null, true, undefined],
      aud: ['other', 'portcullis', [], [['portcullis:auth']], { 'portcullis:auth': 1 }, undefined],
      tenant: ['other', null, ['default'], undefined],
      sub: ['me', null, [user.id], 1, undefined],
      gen: ['0', null, -1, 0.5],
    })) {
      for (const value of values)
        attacks.set(`${claim} ${JSON.stringify(value)}`, own(header, { ...claims, [claim]: value }))
    }
    attacks.set('exp spelled 1e400', own(header, JSON.stringify({ ...claims, exp: '@' }).replace('"@"', '1e400')))
    attacks.set('claims that are a list', own(header, [claims]))
    attacks.set('claims that are null', own(header, 'null'))
    attacks.set('claims that are no JSON', own(header, '{'))
    attacks.set('other claims under our signature', `${head}.${encoded({ ...claims, sub: aUser().id })}.${signature}`)
    attacks.set('no signature', `${head}.${body}.`)
    attacks.set('a fourth part', `${valid}.x`)
    attacks.set('8 KiB', own(header, { ...claims, x: 'x'.repeat(8192) }))

    ofOtherTenant = (await credentialsOf(keysFor(['EdDSA']), 'EdDSA').issue(user, proof)).value
    attacks.set('a key of another tenant', ofOtherTenant)
  })

  it('is refused, whatever it pretends', async () => {
    expect(attacks.size).to.be.greaterThan(90)
    for (const [name, token] of attacks) {
      expect(await credentials.read(token), name).to.equal(null)
      expect(await credentialsOf(keys, 'HS256').read(token), name).to.equal(null)
    }
    expect(await credentials.read(valid)).not.to.equal(null)
  })

  it('is any mutation of a genuine one (500)', async () => {
    const place = fc.nat(400)
    await fc.assert(
      fc.asyncProperty(place, fc.constantFrom(...'ABxyz019-_.= \n'), async (at, one) => {
        const end = valid.lastIndexOf('.')
        if (at >= valid.length - 1 || at === end) return // the last character has bits without a meaning
        const token = valid.slice(0, at) + one + valid.slice(at + 1)
        if (token !== valid) expect(await credentials.read(token)).to.equal(null)
      }),
      { numRuns: 500 },
    )
  })
})

it('the key of HS256 is never published', async () => {
  const { jwtKey } = keyRing
  const keys = await keysFor(['EdDSA', 'ES256', 'RS256']).published()
  const text = JSON.stringify(keys)
  expect(text).not.to.include(jwtKey.export().toString('base64url'))
  expect(keys.every(({ kty }) => kty !== 'oct')).to.equal(true)
})
