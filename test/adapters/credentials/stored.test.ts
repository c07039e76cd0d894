import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { storedCredentials } from '../../../src/adapters/credentials/stored.ts'
import type { SessionStore } from '../../../src/application/ports/stores/session-store.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { expiryOf, type Session } from '../../../src/domain/session.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'

const digest = (token: string) => createHash('sha256').update(token).digest('base64url')
const newToken = () => randomBytes(32).toString('base64url')
const day = 86_400

/** As much of a session store as is needed to see what reaches it; it can be made to fail. */
function setUp(idleSeconds: number | null = day) {
  const clock = fixedClock(new Date('2030-01-01T00:00:00Z'))
  const kept = new Map<string, Session>()
  const state = { touches: 0, down: false }
  const answering = () => {
    if (state.down) throw new Unavailable('sessions')
  }
  const sessions: SessionStore = {
    async put(session) {
      answering()
      kept.set(session.digest, session)
    },
    async find(id) {
      answering()
      const session = kept.get(id)
      return session === undefined || expiryOf(session) <= clock() ? null : session
    },
    async recordUse(id, at) {
      state.touches += 1
      answering()
      const session = kept.get(id)
      if (session !== undefined) kept.set(id, { ...session, seenAt: at })
    },
    async remove(id) {
      answering()
      return kept.delete(id)
    },
    listOf: async () => [...kept.keys()],
    removeAllOf: async () => kept.clear(),
    sweep: async () => 0,
  }
  const credentials = storedCredentials({ sessions, digest, newToken, lifetimeSeconds: 30 * day, idleSeconds, clock })
  const user = aUser()
  const login = async () => {
    const token = await credentials.issue(user)
    const credential = await credentials.read(token)
    if (credential === null) throw new Error('a new session is not there')
    return { token, credential }
  }
  return { clock, kept, state, credentials, user, login }
}

describe('a stored session', () => {
  it('is stored under the digest of its token, and the token itself nowhere', async () => {
    const { kept, credentials, user, clock } = setUp()
    const token = await credentials.issue(user)
    expect(token).to.match(/^[\w-]{43}$/)
    expect([...kept.values()]).to.deep.equal([
      {
        digest: digest(token),
        userId: user.id,
        generation: user.sessions.generation,
        createdAt: clock(),
        seenAt: clock(),
        idleSeconds: day,
        endsAt: new Date(clock().getTime() + 30 * day * 1000),
      },
    ])
    expect(JSON.stringify([...kept])).not.to.include(token)
  })

  it('differs at each login', async () => {
    const { credentials, user, kept } = setUp()
    const tokens = await Promise.all(Array.from({ length: 100 }, () => credentials.issue(user)))
    expect(new Set(tokens).size).to.equal(100)
    expect(kept.size).to.equal(100)
  })

  it('is read with its user and its expiry', async () => {
    const { login, user, clock } = setUp()
    const { token, credential } = await login()
    expect(credential).to.deep.include({
      id: digest(token),
      userId: user.id,
      generation: user.sessions.generation,
      issuedAt: clock(),
      expiresAt: new Date(clock().getTime() + day * 1000),
    })
  })

  it('is not found by any other token, nor by its digest', async () => {
    const { login, credentials } = setUp()
    const { token } = await login()
    for (const other of [
      newToken(),
      digest(token),
      token.toLowerCase().toUpperCase(),
      token.slice(1),
      `${token}=`,
      '',
    ]) {
      expect(await credentials.read(other), other).to.equal(null)
    }
  })

  it('is absent after its end, whoever ended it', async () => {
    const { login, credentials } = setUp()
    const { token, credential } = await login()
    expect(await credentials.revoke(credential)).to.equal('ended')
    expect(await credentials.read(token)).to.equal(null)
    expect(await credentials.revoke(credential)).to.equal('ended')
  })

  it('records a use only when the last recorded one is older than a 96th of the idle limit', async () => {
    const { login, credentials, clock, kept, state } = setUp()
    const { token, credential } = await login()
    clock.advance(day / 96)
    await credentials.recordUse(credential)
    expect(state.touches).to.equal(0)
    clock.advance(1)
    await credentials.recordUse(credential)
    expect(state.touches).to.equal(1)
    expect(kept.get(credential.id)?.seenAt).to.deep.equal(clock())

    const fresher = await credentials.read(token)
    if (fresher === null) throw new Error('gone')
    await credentials.recordUse({ ...fresher })
    expect(state.touches).to.equal(1)
  })

  it('without an idle limit records no use', async () => {
    const { login, credentials, clock, state } = setUp(null)
    const { credential } = await login()
    expect(credential.expiresAt).to.deep.equal(new Date(clock().getTime() + 30 * day * 1000))
    clock.advance(29 * day)
    await credentials.recordUse(credential)
    expect(state.touches).to.equal(0)
  })

  it('that has ended is not revived by a use', async () => {
    const { login, credentials, clock } = setUp()
    const { token, credential } = await login()
    clock.advance(day / 2)
    await credentials.revoke(credential)
    await credentials.recordUse(credential)
    expect(await credentials.read(token)).to.equal(null)
  })

  it('is unavailable, not absent, while the store is down; a use that cannot be recorded is ignored', async () => {
    const { login, credentials, clock, user, state } = setUp()
    const { token, credential } = await login()
    clock.advance(day / 2)
    state.down = true
    await credentials.recordUse(credential)
    expect(state.touches).to.equal(1)
    for (const act of [
      () => credentials.read(token),
      () => credentials.issue(user),
      () => credentials.revoke(credential),
    ]) {
      expect(await act().catch((fault: unknown) => fault)).to.be.instanceOf(Unavailable)
    }
  })

  it('has a token of 43 characters of base64url, and other values are not looked up', async () => {
    const { credentials, state } = setUp()
    expect(credentials.recognises(newToken())).to.equal(true)
    state.down = true
    for (const value of [
      '',
      'a.b.c',
      'x'.repeat(42),
      'x'.repeat(44),
      `${'x'.repeat(42)}=`,
      `${'x'.repeat(43)}\n`,
      'é'.repeat(43),
    ]) {
      expect(credentials.recognises(value), value).to.equal(false)
      expect(await credentials.read(value), value).to.equal(null)
    }
  })
})
