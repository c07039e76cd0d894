import { expect } from 'chai'
import fc from 'fast-check'
import type { Email } from '../../src/domain/email.ts'
import { parseUserId, type UserId } from '../../src/domain/ids.ts'
import { factOf } from '../../src/domain/one-time-token.ts'
import { endCredential, endSessions, isAlive, newUser, type User, viewOf, withPassword } from '../../src/domain/user.ts'

const now = new Date('2030-01-01T00:00:00Z')
const later = (seconds: number) => new Date(now.getTime() + seconds * 1000)
const id = '01890a5d-ac96-774b-bcce-b302099a8057' as UserId
const arthur = newUser(id, 'king.arthur@camelot.bt' as Email, '$argon2id$…', now)
/** A credential as a login with this very record would have got it. */
const loggedIn = (user: User, credentialId: string) => ({ id: credentialId, generation: user.sessions.generation })

describe('the id of a user', () => {
  it('is read in either case and kept in lower case', () => {
    expect(parseUserId(id)).to.equal(id)
    expect(parseUserId(id.toUpperCase())).to.equal(id)
  })

  for (const text of ['', 'me', `${id} `, `{${id}}`, id.replaceAll('-', ''), `${id}\n`, `urn:uuid:${id}`]) {
    it(`is not ${JSON.stringify(text)}`, () => {
      expect(parseUserId(text)).to.equal(null)
    })
  }
})

describe('a new user', () => {
  it('is active, not verified, no superuser, and at the first version of everything', () => {
    expect(viewOf(arthur)).to.deep.equal({
      id,
      email: 'king.arthur@camelot.bt',
      isActive: true,
      isSuperuser: false,
      isVerified: false,
    })
    expect(arthur).to.deep.include({ version: 1, passwordVersion: 1, sessions: { generation: 0, kept: null } })
  })

  it('shows nothing of its password to anybody', () => {
    expect(Object.keys(viewOf(arthur))).to.have.members(['id', 'email', 'isActive', 'isSuperuser', 'isVerified'])
  })
})

describe('a credential', () => {
  it('lives while its generation does', () => {
    expect(isAlive(arthur, loggedIn(arthur, 'a'))).to.equal(true)
    expect(isAlive(endSessions(arthur, now), loggedIn(arthur, 'a'))).to.equal(false)
  })

  it('of a later generation than the user is dead as well', () => {
    expect(isAlive(arthur, { id: 'a', generation: 1 })).to.equal(false)
  })

  it('is dead while its user is inactive, even the kept one', () => {
    const changed = { ...endSessions(arthur, now, 'a'), isActive: false }
    expect(isAlive(changed, loggedIn(arthur, 'a'))).to.equal(false)
    expect(isAlive(changed, loggedIn(changed, 'b'))).to.equal(false)
  })

  it('that is kept outlives one step of the generation, not two', () => {
    const changed = endSessions(arthur, now, 'a')
    expect(isAlive(changed, loggedIn(arthur, 'a'))).to.equal(true)
    expect(isAlive(changed, loggedIn(arthur, 'b'))).to.equal(false)
    expect(isAlive(endSessions(changed, now, 'c'), loggedIn(arthur, 'a'))).to.equal(false)
  })

  it('that was ended is dead, all others live on', () => {
    const changed = endCredential(arthur, { id: 'a', expiresAt: later(60) }, now)
    expect(isAlive(changed, loggedIn(arthur, 'a'))).to.equal(false)
    expect(isAlive(changed, loggedIn(arthur, 'b'))).to.equal(true)
  })

  it('that was kept and then ended is dead', () => {
    const kept = endSessions(arthur, now, 'a')
    const changed = endCredential(kept, { id: 'a', expiresAt: later(60) }, now)
    expect(isAlive(changed, loggedIn(arthur, 'a'))).to.equal(false)
    expect(changed.sessions.kept).to.equal(null)
  })

  it('that was ended is not brought back by being kept', () => {
    const ended = endCredential(arthur, { id: 'a', expiresAt: later(60) }, now)
    expect(isAlive(endSessions(ended, now, 'a'), loggedIn(arthur, 'a'))).to.equal(false)
  })

  it('that was ended is forgotten once it has expired', () => {
    const ended = endCredential(arthur, { id: 'a', expiresAt: later(60) }, now)
    const next = endCredential(ended, { id: 'b', expiresAt: later(120) }, later(61))
    expect(next.endedCredentials.map((one) => one.id)).to.deep.equal(['b'])
  })

  it('is ended for good however often, and once remembered', () => {
    const once = endCredential(arthur, { id: 'a', expiresAt: later(60) }, now)
    expect(endCredential(once, { id: 'a', expiresAt: later(60) }, now)).to.deep.equal(once)
  })

  it('stays dead in every order of ends, keeps and steps (2 000 histories)', () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant('end' as const), id: fc.integer({ min: 0, max: 60 }).map(String) }),
      fc.record({ type: fc.constant('step' as const), kept: fc.option(fc.integer({ min: 0, max: 60 }).map(String)) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (history) => {
        let user = arthur
        const ended = new Set<string>()
        const ids = Array.from({ length: 61 }, (_, index) => String(index))
        for (const one of history) {
          const before = ids.filter((id) => isAlive(user, { id, generation: 0 }))
          if (one.type === 'end') {
            user = endCredential(user, { id: one.id, expiresAt: later(60) }, now)
            ended.add(one.id)
          } else {
            // Whoever asks to be kept is judged alive on the very record that is changed.
            user = endSessions(user, now, one.kept !== null && before.includes(one.kept) ? one.kept : null)
          }
          for (const id of ids) {
            const alive = isAlive(user, { id, generation: 0 })
            if (alive && ended.has(id)) throw new Error(`${id} was ended and lives`)
            if (alive && !before.includes(id)) throw new Error(`${id} came back`)
          }
          expect(user.endedCredentials.length).to.be.at.most(32)
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('stay dead when a user who was restored from a backup ends them once more', () => {
    const since = endSessions(arthur, now)
    const stolen = loggedIn(since, 'stolen')
    expect(isAlive(since, stolen)).to.equal(true)
    const restored = endSessions(arthur, later(1))
    expect(isAlive(restored, stolen)).to.equal(false)
  })

  it('move on when a clock was set back', () => {
    const moved = endSessions(endSessions(arthur, later(60)), now)
    expect(moved.sessions.generation).to.equal(later(60).getTime() + 1)
  })

  it('number 33 that is ended moves the generation on instead', () => {
    let user = arthur
    for (let count = 0; count < 32; count += 1) {
      user = endCredential(user, { id: `${count}`, expiresAt: later(60) }, now)
    }
    expect(user.sessions.generation).to.equal(0)
    expect(user.endedCredentials).to.have.length(32)
    const changed = endCredential(user, { id: 'one too many', expiresAt: later(60) }, now)
    expect(changed.sessions.generation).to.equal(now.getTime())
    for (const dead of ['0', '31', 'one too many', 'another']) {
      expect(isAlive(changed, loggedIn(arthur, dead)), dead).to.equal(false)
    }
  })
})

describe('a new password of a user', () => {
  it('kills reset tokens for the older one and leaves verification tokens alone', () => {
    const changed = withPassword(arthur, 'other')
    expect(changed.passwordHash).to.equal('other')
    expect(factOf('reset_password', changed)).not.to.equal(factOf('reset_password', arthur))
    expect(factOf('verify_email', changed)).to.equal(factOf('verify_email', arthur))
  })
})
