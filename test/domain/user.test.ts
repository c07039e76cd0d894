import { expect } from 'chai'
import fc from 'fast-check'
import type { Email } from '../../src/domain/email.ts'
import type { UserId } from '../../src/domain/ids.ts'
import {
  endCredential,
  endSessions,
  isAlive,
  mayBeEnded,
  mayHaveRandomPassword,
  newUser,
  type User,
  withoutFormerHash,
  withPassword,
} from '../../src/domain/user.ts'
import { anAccount } from '../../src/testing/builders.ts'

const now = new Date('2030-01-01T00:00:00Z')
const later = (seconds: number) => new Date(now.getTime() + seconds * 1000)
const id = '01890a5d-ac96-774b-bcce-b302099a8057' as UserId
const arthur = newUser(id, 'king.arthur@camelot.bt' as Email, '$argon2id$…', now)
/** A credential of a login with this record. */
const loggedIn = (user: User, sid: string) => ({ sid, generation: user.sessions.generation })

describe('a password', () => {
  it('may be a random one of fastapi-users, until it is chosen here or the provider is unlinked', () => {
    const imported = { generation: 0, hashText: null, digest: 'd', version: 1 }
    const linked: User = { ...arthur, oauthAccounts: [anAccount()] }
    const moved: User = { ...linked, imported }
    expect(mayHaveRandomPassword(moved)).to.equal(true)
    const others = [
      linked,
      { ...moved, oauthAccounts: [] },
      { ...moved, passwordHash: null },
      withPassword(moved, 'new'),
      { ...moved, imported: { ...imported, generation: null } },
    ]
    for (const one of others) expect(mayHaveRandomPassword(one)).to.equal(false)
  })
})

describe('the former hash of an imported user', () => {
  const imported: User = {
    ...arthur,
    version: 4,
    imported: { generation: 0, hashText: 'old', digest: 'd', version: 4 },
  }

  it('goes with the password', () => {
    expect(withPassword(imported, 'new').imported).to.deep.equal({ ...imported.imported, hashText: null })
    expect(withPassword(arthur, 'new').imported).to.equal(null)
  })

  it('can be removed without a trace of a change', () => {
    // A store counts the version when it writes the record.
    expect(withoutFormerHash(imported).imported).to.deep.equal({ ...imported.imported, hashText: null, version: 5 })
    expect(withoutFormerHash({ ...imported, version: 6 }).imported?.version).to.equal(4)
  })
})

describe('a credential', () => {
  it('of another system is valid during the imported generation, and is never kept', () => {
    const imported: User = { ...arthur, imported: { generation: 0, hashText: null, digest: 'd', version: 1 } }
    const former = { sid: 'a', generation: null }
    expect(isAlive(imported, former)).to.equal(true)
    const others = [
      arthur,
      endSessions(imported, now, 'a'),
      { ...imported, isActive: false },
      { ...imported, imported: imported.imported && { ...imported.imported, generation: null } },
    ]
    for (const one of others) expect(isAlive(one, former)).to.equal(false)
  })

  it('is valid during its generation', () => {
    expect(isAlive(arthur, loggedIn(arthur, 'a'))).to.equal(true)
    expect(isAlive(endSessions(arthur, now), loggedIn(arthur, 'a'))).to.equal(false)
  })

  it('is not valid if its generation is later than that of the user', () => {
    expect(isAlive(arthur, { sid: 'a', generation: 1 })).to.equal(false)
  })

  it('is not valid if the user is inactive, even if it was kept', () => {
    const changed = { ...endSessions(arthur, now, 'a'), isActive: false }
    expect(isAlive(changed, loggedIn(arthur, 'a'))).to.equal(false)
    expect(isAlive(changed, loggedIn(changed, 'b'))).to.equal(false)
  })

  it('stays valid after one change of the generation, not after two, if it was kept', () => {
    const changed = endSessions(arthur, now, 'a')
    expect(isAlive(changed, loggedIn(arthur, 'a'))).to.equal(true)
    expect(isAlive(changed, loggedIn(arthur, 'b'))).to.equal(false)
    expect(isAlive(endSessions(changed, now, 'c'), loggedIn(arthur, 'a'))).to.equal(false)
  })

  it('is not valid after its end, even if it was kept', () => {
    const kept = endSessions(arthur, now, 'a')
    const changed = endCredential(kept, 'a', null)
    expect(isAlive(changed, loggedIn(arthur, 'a'))).to.equal(false)
    expect(endCredential(kept, 'b', null).sessions.keptSid).to.equal('a')
  })

  it('may have been ended if it expires no later than an ended one', () => {
    expect(mayBeEnded(arthur, { expiresAt: now })).to.equal(false)
    expect(mayBeEnded(endCredential(arthur, 'a', null), { expiresAt: now })).to.equal(false)
    for (const order of [
      [60, 120],
      [120, 60],
    ]) {
      const user = order.reduce((before, seconds) => endCredential(before, `${seconds}`, later(seconds)), arthur)
      expect(mayBeEnded(user, { expiresAt: later(60) })).to.equal(true)
      expect(mayBeEnded(user, { expiresAt: later(120) })).to.equal(true)
      expect(mayBeEnded(user, { expiresAt: later(121) })).to.equal(false)
      expect(mayBeEnded(endSessions(user, now, '60'), { expiresAt: later(60) })).to.equal(true)
    }
  })

  it('never becomes valid again (2 000 histories)', () => {
    const ids = Array.from({ length: 61 }, (_, index) => String(index))
    const keeps = fc.array(fc.option(fc.integer({ min: 0, max: 60 }).map(String)), { maxLength: 80 })
    fc.assert(
      fc.property(keeps, (history) => {
        let user = arthur
        for (const kept of history) {
          const before = ids.filter((id) => isAlive(user, { sid: id, generation: 0 }))
          // The kept credential is valid for the record that is changed.
          user = endSessions(user, now, kept !== null && before.includes(kept) ? kept : null)
          for (const id of ids) {
            if (isAlive(user, { sid: id, generation: 0 }) && !before.includes(id)) throw new Error(`${id} came back`)
          }
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('is not valid when a user restored from a backup ends all sessions again', () => {
    const since = endSessions(arthur, now)
    const stolen = loggedIn(since, 'stolen')
    expect(isAlive(since, stolen)).to.equal(true)
    const restored = endSessions(arthur, later(1))
    expect(isAlive(restored, stolen)).to.equal(false)
  })

  it('ends with its generation even if the clock was set back', () => {
    const moved = endSessions(endSessions(arthur, later(60)), now)
    expect(moved.sessions.generation).to.equal(later(60).getTime() + 1)
  })
})
