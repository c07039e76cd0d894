import {
  createHmac,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  randomUUID,
  sign,
} from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { jwtCredentials } from '../../../src/adapters/credentials/jwt.ts'
import { memoryExpiringMarks } from '../../../src/adapters/stores/memory/expiring-marks.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'

const key = createSecretKey(randomBytes(32))
const otherKey = createSecretKey(randomBytes(32))
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const clock = fixedClock(new Date('2030-01-01T00:00:00Z'))
const now = clock().getTime() / 1000
const options = {
  key,
  audience: 'portcullis',
  tenant: 'default',
  lifetimeSeconds: 3600,
  expiringMarks: memoryExpiringMarks(clock),
  clock,
  newId: randomUUID,
}
const credentials = jwtCredentials(options)
const user = aUser()

const good = {
  sub: user.id as unknown,
  aud: 'portcullis' as unknown,
  iat: now as unknown,
  exp: (now + 600) as unknown,
  jti: 'some-id' as unknown,
  gen: 0 as unknown,
  tenant: 'default' as unknown,
}
const header = { alg: 'HS256', typ: 'JWT' }

const encoded = (part: unknown): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')
const mac = (input: string, secret: KeyObject | Buffer, hash = 'sha256'): string =>
  createHmac(hash, secret).update(input).digest('base64url')

/** A token with a right MAC, so that only its content can be refused. Strings are taken as JSON. */
function signed(head: unknown, claims: unknown, secret: KeyObject | Buffer = key, hash = 'sha256'): string {
  const input = `${encoded(head)}.${encoded(claims)}`
  return `${input}.${mac(input, secret, hash)}`
}

function signedByPair(alg: string, hash: string, privateKey: KeyObject): string {
  const input = `${encoded({ ...header, alg })}.${encoded(good)}`
  const signature = sign(hash, Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

const valid = signed(header, good)
const [head = '', body = '', signature = ''] = valid.split('.')
const publicPem = Buffer.from(rsa.publicKey.export({ type: 'spki', format: 'pem' }))
const jwk = { kty: 'oct', k: Buffer.alloc(32, 1).toString('base64url') }
const attackers = createSecretKey(Buffer.alloc(32, 1))

const attacks: Record<string, string> = {}

for (const alg of ['none', 'None', 'NONE', 'nOnE', 'noNe', 'NonE', 'none ', 'n\u043ene']) {
  attacks[`alg ${alg} without a signature`] = `${encoded({ ...header, alg })}.${body}.`
  attacks[`alg ${alg} with the old signature`] = `${encoded({ ...header, alg })}.${body}.${signature}`
  attacks[`alg ${alg} with a right MAC`] = signed({ ...header, alg }, good)
}
const noAlgorithms = [undefined, null, '', 0, true, ['HS256'], { HS256: 1 }, 'hs256', 'HS256 ', 'HS1', '__proto__']
for (const alg of noAlgorithms) attacks[`alg ${JSON.stringify(alg)}`] = signed({ ...header, alg }, good)

/** Wrong values of each claim, under a right MAC. */
const wrongClaims: Readonly<
  Partial<Record<keyof typeof good | 'nbf' | 'sid' | 'auth_time' | 'amr', readonly unknown[]>>
> = {
  exp: [now, 1, 0, -(now + 600), `${now + 600}`, [now + 600], { valueOf: now + 600 }, null, true, undefined],
  iat: ['now', null, -1],
  nbf: [now + 1, '0'],
  aud: ['other', 'portcullis.example', 'Portcullis', [], [['portcullis']], { portcullis: 1 }, undefined],
  tenant: ['other', null, ['default'], undefined],
  sub: ['me', { $ne: null }, [user.id], 1, undefined],
  gen: ['0', null, -1, 0.5],
  jti: [1, '', {}],
  sid: [1, '', {}, null],
  auth_time: ['now', null, -1, [now]],
  amr: ['pwd', [1], null, { pwd: true }],
}
for (const [claim, values] of Object.entries(wrongClaims)) {
  for (const value of values) {
    attacks[`${claim} ${JSON.stringify(value)}`] = signed(header, { ...good, [claim]: value })
  }
}

// Spellings that JSON.stringify never writes.
for (const [claim, json] of [
  ['exp', 'NaN'],
  ['exp', 'Infinity'],
  ['exp', '1e400'],
  ['exp', '1e300'],
  ['exp', `${now + 600},"exp":1`],
  ['iat', '1e400'],
  ['auth_time', '1e400'],
  ['gen', '1e400'],
  ['aud', '"portcullis","aud":"other"'],
] as const) {
  attacks[`${claim} spelled ${json}`] = signed(header, JSON.stringify({ ...good, [claim]: '@' }).replace('"@"', json))
}

Object.assign(attacks, {
  'HS384 with our key': signed({ ...header, alg: 'HS384' }, good, key, 'sha384'),
  'HS512 with our key': signed({ ...header, alg: 'HS512' }, good, key, 'sha512'),
  'HS256 announced, HS512 made': signed(header, good, key, 'sha512'),
  'HS256 keyed with a public RSA key': signed(header, good, publicPem),
  RS256: signedByPair('RS256', 'sha256', rsa.privateKey),
  PS256: signedByPair('PS256', 'sha256', rsa.privateKey),
  ES256: signedByPair('ES256', 'sha256', ec.privateKey),
  'ES256 with r = s = 0 (CVE-2022-21449)': `${encoded({ ...header, alg: 'ES256' })}.${body}.${Buffer.alloc(64).toString('base64url')}`,
  'another key': signed(header, good, otherKey),
  'an empty key': signed(header, good, Buffer.alloc(0)),

  'a key named by kid: none': signed({ ...header, kid: '' }, good, Buffer.alloc(0)),
  'a key named by kid: an empty file': signed({ ...header, kid: '../../../../dev/null' }, good, Buffer.alloc(0)),
  'a key named by kid: __proto__': signed('{"alg":"HS256","typ":"JWT","kid":"__proto__"}', good, Buffer.alloc(0)),
  'a key brought along as jwk': signed({ ...header, jwk }, good, attackers),
  'a key brought along as x5c': signed({ ...header, x5c: [publicPem.toString('base64')] }, good, publicPem),
  'a key to be fetched by jku': signed({ ...header, jku: 'http://127.0.0.1:9/keys' }, good, attackers),
  'a key to be fetched by x5u': signed({ ...header, x5u: 'http://127.0.0.1:9/cert' }, good, attackers),

  'crit that nobody understands': signed({ ...header, crit: ['x'], x: 1 }, good),
  'crit and b64 (RFC 7797)': signed({ ...header, crit: ['b64'], b64: false }, good),
  'typ of another kind of token': signed({ ...header, typ: 'at+jwt' }, good),
  'typ JWE': signed({ ...header, typ: 'JWE' }, good),
  'a header that is an array': signed([header], good),
  'a header that is no JSON': signed('{alg:HS256}', good),
  'an empty header': signed('{}', good),
  'a header whose prototype has the algorithm': signed('{"typ":"JWT","__proto__":{"alg":"HS256"}}', good),
  'a header with two algorithms, the last one none': signed('{"alg":"HS256","typ":"JWT","alg":"none"}', good),

  'claims that are an array': signed(header, [good]),
  'claims that are null': signed(header, 'null'),
  'claims that are no JSON': signed(header, '{sub:1}'),
  'no claims': signed(header, '{}'),
  'claims of another prototype': signed(header, `{"__proto__":${JSON.stringify(good)}}`),
  'a token within the token': signed({ ...header, cty: 'JWT' }, valid),

  nothing: '',
  'a dot': '.',
  'two dots': '..',
  'no signature': `${head}.${body}.`,
  'no signature and no dot': `${head}.${body}`,
  'no header': `.${body}.${signature}`,
  'a signature with padding': `${valid}=`,
  'a signature in ordinary base64 with padding': `${head}.${body}.${Buffer.from(signature, 'base64url').toString('base64')}`,
  'a fourth part': `${valid}.x`,
  'five parts, as a JWE has': `${encoded({ alg: 'dir', enc: 'A256GCM', zip: 'DEF' })}..${encoded('iv')}.${encoded('x')}.${encoded('tag')}`,
  'JSON serialisation': JSON.stringify({ protected: head, payload: body, signature }),
  'the scheme before it': `Bearer ${valid}`,
  'a line break after it': `${valid}\n`,
  'claims of 8 KiB': signed(header, { ...good, x: 'x'.repeat(8192) }),
  'a megabyte of dots': '.'.repeat(1_000_000),
  'a megabyte of one part': `${'A'.repeat(1_000_000)}.${body}.${signature}`,
  'a megabyte of nesting': signed(header, `${'['.repeat(500_000)}${']'.repeat(500_000)}`),
  'the claims of somebody else under our signature': `${head}.${encoded({ ...good, sub: aUser().id })}.${signature}`,
  'a superuser by claim under our signature': `${head}.${encoded({ ...good, is_superuser: true })}.${signature}`,
})

describe('a forged JWT', () => {
  it('is refused because of its fault, not because of how these tests build tokens', async () => {
    const read = await credentials.read(valid)
    expect(read).to.deep.include({ id: 'some-id', userId: user.id, generation: 0 })
    const large = signed(header, { ...good, x: 'x'.repeat(5000) })
    expect(large).to.have.length.within(6000, 8192)
    expect(await credentials.read(large)).not.to.equal(null)
  })

  for (const [name, token] of Object.entries(attacks)) {
    it(`is ${name}`, async () => {
      const fresh = jwtCredentials(options)
      expect(await fresh.read(token)).to.equal(null)
      // These credentials have read a genuine token before, and remember it.
      expect(await credentials.read(token)).to.equal(null)
      expect(fresh.recognises(token)).to.be.a('boolean')
    })
  }

  it('is any genuine one of another deployment, tenant or audience', async () => {
    const { value: token } = await credentials.issue(user, { at: clock(), methods: ['pwd'] })
    for (const other of [{ key: otherKey }, { tenant: 'other' }, { audience: 'other' }]) {
      expect(await jwtCredentials({ ...options, ...other }).read(token), Object.keys(other)[0]).to.equal(null)
    }
  })

  const character = fc.oneof(
    fc.constantFrom(...'ABCxyz019-_.=+/ %\n\u0000'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  )
  const place = fc.nat(valid.length - 1)
  const mutation = fc.oneof(
    fc.tuple(place, character).map(([at, one]) => valid.slice(0, at) + one + valid.slice(at + 1)),
    fc.tuple(place, character).map(([at, one]) => valid.slice(0, at) + one + valid.slice(at)),
    fc
      .tuple(place, fc.integer({ min: 1, max: 40 }))
      .map(([at, length]) => valid.slice(0, at) + valid.slice(at + length)),
    fc.tuple(place, place).map(([one, other]) => valid.slice(one) + valid.slice(0, other)),
    fc.tuple(fc.json(), fc.json()).map(([one, two]) => `${encoded(one)}.${encoded(two)}.${signature}`),
    fc.json().map((claims) => signed(header, claims)),
    fc.json().map((one) => signed(one, good)),
    fc.shuffledSubarray([head, body, signature, ''], { minLength: 1 }).map((parts) => parts.join('.')),
  )

  it('is any mutation of a genuine one (2 000)', async () => {
    let mutants = 0
    await fc.assert(
      fc.asyncProperty(mutation, async (token) => {
        if (token === valid) return
        mutants += 1
        expect(await credentials.read(token)).to.equal(null)
      }),
      { numRuns: 2000 },
    )
    expect(mutants).to.be.greaterThan(1900)
    expect(Object.keys(attacks)).to.have.length.greaterThan(120)
  })
})
