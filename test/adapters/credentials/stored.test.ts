import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { storedCredentials } from '../../../src/adapters/credentials/stored.ts'
import { memorySessionStore } from '../../../src/adapters/stores/memory/sessions.ts'
import type { SessionStore } from '../../../src/application/ports/stores/session-store.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { faultOf } from '../../support/fault-of.ts'

const digest = (token: string) => createHash('sha256').update(token).digest('base64url')
const newToken = () => randomBytes(32).toString('base64url')
const day = 86_400
const traits = { network: '203.0.113.0/24', browser: 'Firefox', system: 'Linux' }

/** Credentials whose store can be made to fail, and counts the uses that reach it. */
function setUp(idleSeconds: number | null = day) {
  const clock = fixedClock(new Date('2030-01-01T00:00:00Z'))
  const memory = memorySessionStore(clock)
  const state = { uses: 0, isDown: false }
  const answering = <T>(work: Promise<T>): Promise<T> =>
    state.isDown ? Promise.reject(new Unavailable('sessions')) : work
  const sessions: SessionStore = {
    ...memory,
    put: (session) => answering(memory.put(session)),
    find: (id) => answering(memory.find(id)),
    remove: (id) => answering(memory.remove(id)),
    recordUse(id, at) {
      state.uses += 1
      return answering(memory.recordUse(id, at))
    },
  }
  const credentials = storedCredentials({ sessions, digest, newToken, lifetimeSeconds: 30 * day, idleSeconds, clock })
  const user = aUser()
  const proof = { at: new Date('2029-12-31T23:00:00Z'), methods: ['pwd'] }
  const login = async () => {
    const { value: token, credential: issued } = await credentials.issue(user, proof, traits)
    const credential = await credentials.read(token)
    if (credential === null) throw new Error('a new session is not there')
    expect(issued).to.deep.equal(credential)
    return { token, credential }
  }
  return { clock, sessions, state, credentials, user, proof, login }
}

describe('a stored session', () => {
  it('is stored under the digest of its token', async () => {
    const { sessions, login, user, proof, clock } = setUp()
    const { token, credential } = await login()
    expect(token).to.match(/^[\w-]{43}$/)
    const stored = {
      digest: digest(token),
      userId: user.id,
      generation: user.sessions.generation,
      sid: digest(token),
      provedAt: proof.at,
      methods: ['pwd'],
      createdAt: clock(),
      seenAt: clock(),
      idleSeconds: day,
      endsAt: new Date(clock().getTime() + 30 * day * 1000),
      ...traits,
    }
    expect(await sessions.listOf(user.id)).to.deep.equal([stored])
    expect(await sessions.find(digest(token))).to.deep.equal(stored)
    expect(credential).to.deep.include({
      id: digest(token),
      userId: user.id,
      generation: user.sessions.generation,
      sid: digest(token),
      provedAt: proof.at,
      methods: ['pwd'],
      expiresAt: new Date(clock().getTime() + day * 1000),
    })
  })

  it('may belong to an earlier login', async () => {
    const { credentials, user, proof } = setUp()
    const { value, credential } = await credentials.issue(user, { ...proof, sid: 'login' }, traits)
    expect(credential.sid).to.equal('login')
    expect(await credentials.read(value)).to.deep.equal(credential)
  })

  it('is not found by any other token, nor by its digest', async () => {
    const { login, credentials } = setUp()
    const { token } = await login()
    for (const other of [newToken(), digest(token), token.toUpperCase(), token.slice(1), `${token}=`, '']) {
      expect(await credentials.read(other), other).to.equal(null)
    }
  })

  it('records a use only when the last recorded one is older than a 96th of the idle limit', async () => {
    const { login, credentials, clock, sessions, state } = setUp()
    const { token, credential } = await login()
    clock.advance(day / 96)
    await credentials.recordUse(credential)
    expect(state.uses).to.equal(0)
    clock.advance(1)
    await credentials.recordUse(credential)
    expect(state.uses).to.equal(1)
    expect(await sessions.find(credential.id))
      .to.have.property('seenAt')
      .that.deep.equals(clock())

    const fresher = await credentials.read(token)
    if (fresher === null) throw new Error('gone')
    await credentials.recordUse(fresher)
    expect(state.uses).to.equal(1)
  })

  for (const idleSeconds of [null, 30 * day]) {
    it(`records a use after 15 minutes, however long the idle limit is (${idleSeconds})`, async () => {
      const { login, credentials, clock, state } = setUp(idleSeconds)
      const { credential } = await login()
      expect(credential.expiresAt).to.deep.equal(new Date(clock().getTime() + 30 * day * 1000))
      clock.advance(900)
      await credentials.recordUse(credential)
      expect(state.uses).to.equal(0)
      clock.advance(1)
      await credentials.recordUse(credential)
      expect(state.uses).to.equal(1)
    })
  }

  it('is unavailable, not absent, while the store is down, and ignores a use that cannot be recorded', async () => {
    const { login, credentials, clock, user, proof, state } = setUp()
    const { token, credential } = await login()
    clock.advance(day / 2)
    state.isDown = true
    await credentials.recordUse(credential)
    expect(state.uses).to.equal(1)
    for (const work of [credentials.read(token), credentials.issue(user, proof), credentials.revoke(credential)]) {
      expect(await faultOf(work)).to.be.instanceOf(Unavailable)
    }
  })

  it('is not looked up for a value that is no token', async () => {
    const { credentials, state } = setUp()
    expect(credentials.recognises(newToken())).to.equal(true)
    state.isDown = true
    const letters = 'x'.repeat(42)
    for (const value of ['', 'a.b.c', letters, `${letters}xx`, `${letters}=`, `${letters}x\n`, 'é'.repeat(43)]) {
      expect(credentials.recognises(value), value).to.equal(false)
      expect(await credentials.read(value), value).to.equal(null)
    }
  })
})
