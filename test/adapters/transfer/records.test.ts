import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { parseLine } from '../../../src/adapters/transfer/records.ts'

const id = newId()
const text = 'a'.repeat(43)
const time = '2026-01-01T00:00:00.000Z'
const passkey = { id: 'a', publicKey: 'a', counter: 0, transports: [], rpId: 'a', name: 'a', addedAt: 0 }
const session = { digest: text, generation: 0, sid: text, provedAt: time, methods: [], createdAt: time, seenAt: time }
const ofSession = { idleSeconds: 60, endsAt: time, network: null, browser: null, system: null }
const user = {
  type: 'user',
  id,
  email: 'ada@example.com',
  passwordHash: null,
  isActive: true,
  isSuperuser: false,
  isVerified: true,
  isOwnerProved: true,
  createdAt: time,
  lastLoginAt: null,
  factors: {
    totp: { sealedSecret: 'a', lastStep: 0, addedAt: 0 },
    passkeys: [passkey],
    recovery: null,
    resetAt: 0,
  },
  fields: { age: 7 },
  accounts: [],
  sessions: [{ ...session, ...ofSession }],
  credentials: { generation: 0, keptSid: null, endedUntil: null },
  former: null,
}

/** The line of the user with `number` in place of the number at `path`. */
function lineWith(path: string, number: string): string {
  const [last = '', ...above] = path.split('.').reverse()
  const copy = structuredClone(user)
  // Safe: the paths below lead to objects and lists.
  const parent = above
    .reverse()
    .reduce((node, name) => node[name] as Record<string, unknown>, copy as Record<string, unknown>)
  parent[last] = 'here'
  return JSON.stringify(copy).replace('"here"', number)
}

describe('a record of a users file', () => {
  it('has no number beyond what the service can compute with', () => {
    for (const path of [
      'factors.totp.lastStep',
      'factors.totp.addedAt',
      'factors.passkeys.0.counter',
      'factors.passkeys.0.addedAt',
      'factors.resetAt',
      'sessions.0.generation',
      'sessions.0.idleSeconds',
      'credentials.generation',
    ]) {
      expect(parseLine(lineWith(path, '1')).type, path).to.equal('user')
      const reason = `the line is a record "user" that this release cannot read, because of its ${path}`
      for (const number of ['9007199254740992', '1e300', '1e400', '-1', '0.5'])
        expect(parseLine(lineWith(path, number)), number).to.deep.equal({ type: 'unreadable', id, reason })
    }
    expect(parseLine(lineWith('fields.age', '1e400')).type).to.equal('unreadable')
  })

  it('names the members of a later release that it leaves out, and is no user without a factor of one', () => {
    expect(parseLine(JSON.stringify({ ...user, later: 1 }))).to.deep.include({
      type: 'user',
      lacks: ['lacks later: this release does not know it'],
    })
    const factors = { ...user.factors, later: {} }
    expect(parseLine(JSON.stringify({ ...user, factors })).type).to.equal('unreadable')
  })
})
