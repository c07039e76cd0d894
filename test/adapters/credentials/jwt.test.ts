import { createHash, createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import jsonwebtoken from 'jsonwebtoken'
import { jwtCredentials } from '../../../src/adapters/credentials/jwt.ts'
import { memoryExpiringMarks } from '../../../src/adapters/stores/memory/expiring-marks.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'

const key = createSecretKey(randomBytes(32))
const clock = fixedClock(new Date('2030-01-01T00:00:00.250Z'))
const options = {
  key,
  audience: 'portcullis',
  tenant: 'default',
  lifetimeSeconds: 3600,
  expiringMarks: memoryExpiringMarks(clock),
  clock,
  newId: randomUUID,
}

describe('a JWT', () => {
  const credentials = jwtCredentials(options)
  const user = aUser()
  const proof = { at: new Date('2029-12-31T23:00:00.750Z'), methods: ['pwd', 'otp'] }

  it('holds user, audience, times, id, generation, tenant, login and proof, and nothing else', async () => {
    const { value: token } = await credentials.issue(user, proof)
    const { header, payload } = jsonwebtoken.decode(token, { complete: true }) ?? {}
    expect(header).to.deep.equal({ alg: 'HS256', typ: 'JWT' })
    expect(payload).to.have.all.keys(
      'sub',
      'aud',
      'iat',
      'exp',
      'jti',
      'gen',
      'tenant',
      'sid',
      'auth_time',
      'amr',
      'acr',
    )
    const iat = new Date('2030-01-01T00:00:00Z').getTime() / 1000
    expect(payload).to.deep.include({
      sub: user.id,
      aud: 'portcullis',
      iat,
      exp: iat + 3600,
      gen: user.sessions.generation,
      tenant: 'default',
      sid: (payload as { jti: string }).jti, // safe: checked above
      auth_time: iat - 3600,
      amr: ['pwd', 'otp'],
    })
  })

  it('is read as it was issued, at the first and at later uses', async () => {
    const { value: token, credential } = await credentials.issue(user, proof)
    const first = await credentials.read(token)
    const { jti } = jsonwebtoken.decode(token, { json: true }) ?? {}
    expect(first).to.deep.equal({
      id: jti,
      userId: user.id,
      generation: user.sessions.generation,
      sid: jti,
      provedAt: new Date('2029-12-31T23:00:00Z'),
      methods: ['pwd', 'otp'],
      expiresAt: new Date('2030-01-01T01:00:00Z'),
    })
    expect(await credentials.read(token)).to.deep.equal(first)
    expect(credential).to.deep.equal(first)
  })

  it('may belong to an earlier login, and is short enough for every header', async () => {
    const methods = ['pwd', 'otp', 'hwk', 'provider']
    const { value: token, credential } = await credentials.issue(user, { ...proof, methods, sid: randomUUID() })
    expect(credential.sid).not.to.equal(credential.id)
    expect(await credentials.read(token)).to.deep.equal(credential)
    expect(token).to.have.length.below(600)
  })

  it('stays genuine after its end, and its end is recorded until it expires', async () => {
    const ticking = fixedClock(clock())
    const own = jwtCredentials({ ...options, clock: ticking, expiringMarks: memoryExpiringMarks(ticking) })
    const [{ value: token }, { value: other }] = [await own.issue(user, proof), await own.issue(user, proof)]
    const [credential, another] = [await own.read(token), await own.read(other)]
    if (credential === null || another === null) throw new Error('not read')
    expect(await own.isEnded(credential)).to.equal(false)
    expect(await own.revoke(credential)).to.equal('remember')
    await own.recordUse(credential)
    expect(await own.read(token)).to.deep.equal(credential)
    expect(await own.isEnded(another)).to.equal(false)
    ticking.advance((credential.expiresAt.getTime() - ticking().getTime()) / 1000 - 1)
    expect(await own.isEnded(credential)).to.equal(true)
  })

  describe('made by another program with the same key', () => {
    const exp = new Date('2030-01-01T01:00:00Z').getTime() / 1000
    const claims = { sub: user.id, aud: 'portcullis', exp, tenant: 'default' }
    const sign = (payload: object) => jsonwebtoken.sign(payload, key, { noTimestamp: true })

    it('has the generation 0 and the digest as its id if it has neither', async () => {
      const token = sign(claims)
      expect(await credentials.read(token)).to.deep.equal({
        id: createHash('sha256').update(token).digest('base64url'),
        userId: user.id,
        generation: 0,
        sid: createHash('sha256').update(token).digest('base64url'),
        provedAt: new Date(0),
        methods: [],
        expiresAt: new Date(exp * 1000),
      })
    })

    it('was proved at its issue, for a login of its own, if an earlier release has made it', async () => {
      const earlier = { ...claims, iat: exp - 3600, jti: 'its-id', gen: 7 }
      expect(await credentials.read(jsonwebtoken.sign(earlier, key))).to.deep.equal({
        id: 'its-id',
        userId: user.id,
        generation: 7,
        sid: 'its-id',
        provedAt: new Date('2030-01-01T00:00:00Z'),
        methods: [],
        expiresAt: new Date(exp * 1000),
      })
    })

    it('may name several audiences, if one is ours, and may have no type', async () => {
      expect(await credentials.read(sign({ ...claims, aud: ['other', 'portcullis'] }))).not.to.equal(null)
      expect(await credentials.read(jsonwebtoken.sign(JSON.stringify(claims), key))).not.to.equal(null)
    })
  })
})
