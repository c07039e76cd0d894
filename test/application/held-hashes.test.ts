import { expect } from 'chai'
import { ChangeAccount } from '../../src/application/accounts/change-account.ts'
import { ChangeOwnAccount } from '../../src/application/accounts/change-own-account.ts'
import { unlimited } from '../../src/application/limits/limits.ts'
import type { PasswordHasher } from '../../src/application/ports/password-hasher.ts'
import type { Authenticated, Backend } from '../../src/application/sign-in/authenticate.ts'
import { LogIn } from '../../src/application/sign-in/log-in.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { endCredential, endSessions, isAlive, type User, withPassword } from '../../src/domain/user.ts'
import { aCredential, anEvent, aUser } from '../../src/testing/builders.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { recordedHandlers } from '../../src/testing/recorded-handlers.ts'
import { changeUserOf, deliveryNeeds, metadataAt } from '../support/scenes/delivery.ts'

/** Accepts every password, and holds each hash until `release`. */
function heldHasher(verdict: 'match' | 'match_needs_rehash') {
  const held: (() => void)[] = []
  const hasher: PasswordHasher = {
    hash: (password) => new Promise((resolve) => held.push(() => resolve(`$new$${password}`))),
    verify: async () => verdict,
  }
  const release = async () => {
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve))
    held.shift()?.()
  }
  return { hasher, release }
}

/** Credentials whose end was recorded. */
const ended = new Set<string>()

const backend: Backend = {
  name: 'jwt',
  requiresVerification: false,
  credentials: {
    recognises: () => true,
    issue: async ({ id: userId }) => {
      return { value: 'credential', credential: aCredential({ id: 'credential', userId }) }
    },
    read: async () => null,
    revoke: async () => 'remember',
    isEnded: async ({ id }) => ended.has(id),
    recordUse: async () => undefined,
  },
}

async function scene(verdict: 'match' | 'match_needs_rehash', fields: Partial<User> = {}) {
  const clock = fixedClock()
  const { users, outbox } = await deliveryNeeds(clock)
  const user = aUser({
    isActive: true,
    passwordHash: '$old$',
    endedUntil: null,
    sessions: { generation: 0, keptSid: null },
    ...fields,
  })
  await users.insert(user, [])
  const changeUser = changeUserOf(users)
  const { hasher, release } = heldHasher(verdict)
  const newId = () => metadataAt(clock()).eventId
  const logIn = new LogIn({
    users,
    changeUser,
    hasher,
    limits: unlimited,
    deviceTokens: { idOf: () => null, issue: () => 'a device token' },
    eventHandlers: { ...recordedHandlers(), handles: () => false },
    clock,
    newId,
    loginTimes: { recordLogin: async () => undefined },
    warnOfDropped() {},
    warnOfUnrecorded() {},
  })
  const needs = {
    users,
    newAddressTokens: null,
    changeUser,
    hasher,
    limits: unlimited,
    policy: { minLength: 8, isCommon: () => false },
    freshLoginSeconds: null,
    clock,
    newId,
  }
  const [changeOwnAccount, changeAccount] = [new ChangeOwnAccount(needs), new ChangeAccount(needs)]
  const credential = aCredential({ id: 'credential', sid: 'login', userId: user.id, provedAt: clock() })
  const by: Authenticated = { user, credential, backend }
  return { users, outbox, clock, user, changeUser, release, logIn, changeOwnAccount, changeAccount, by }
}
const codeOf = (outcome: unknown) => (outcome instanceof Refusal ? outcome.code : outcome)

describe('while a password is hashed', () => {
  it('a re-hash stores the new hash without an event', async () => {
    const { users, outbox, user, release, logIn } = await scene('match_needs_rehash')
    const done = logIn.execute({ email: user.email, password: 'the password', backend, requestId: 'r' })
    await release()
    expect(await done).to.have.nested.property('issued.value', 'credential')
    expect(await users.find(user.id)).to.deep.equal({
      ...user,
      passwordHash: '$new$the password',
      version: user.version + 1,
    })
    expect(await outbox.count('waiting', 1)).to.equal(0)
  })

  it('a concurrent reset wins against a re-hash', async () => {
    const { users, user, clock, release, logIn } = await scene('match_needs_rehash')
    const done = logIn.execute({ email: user.email, password: 'the password', backend, requestId: 'r' })
    await new Promise((resolve) => setImmediate(resolve))
    expect(await users.replace(endSessions(withPassword(user, '$reset$'), clock()), [])).to.equal('stored')
    await release()
    await done
    expect((await users.find(user.id))?.passwordHash).to.equal('$reset$')
  })

  it('a new password keeps the login of the caller, and not its credential alone', async () => {
    const { users, user, clock, release, changeOwnAccount, by } = await scene('match')
    const change = changeOwnAccount.execute({ by, changes: { password: 'a quite long pass phrase' }, requestId: 'r' })
    await release()
    await change
    const changed = (await users.find(user.id)) ?? expect.fail()
    const lives = (sid: string) => isAlive(changed, aCredential({ sid }))
    expect(['login', 'credential', 'other'].map(lives)).to.deep.equal([true, false, false])
    expect(changed.sessions.generation).to.equal(clock().getTime())
  })

  it('a concurrent logout wins against a change', async () => {
    const { users, user, changeUser, release, changeOwnAccount, by } = await scene('match')
    const change = changeOwnAccount.execute({ by, changes: { password: 'a quite long pass phrase' }, requestId: 'r' })
    ended.add(by.credential.id)
    await changeUser.execute(user.id, (fresh) => ({
      type: 'replace',
      user: endCredential(fresh, by.credential.sid, by.credential.expiresAt),
      events: [],
    }))
    await release()
    expect(codeOf(await change.catch((error: unknown) => error))).to.equal('UNAUTHORIZED')
    expect((await users.find(user.id))?.passwordHash).to.equal('$old$')
    ended.clear()
  })

  for (const [what, meanwhile, code] of [
    ['loses the right', (root: User) => ({ ...root, isSuperuser: false }), 'FORBIDDEN'],
    ['becomes inactive', (root: User) => ({ ...root, isActive: false }), 'UNAUTHORIZED'],
    ['is deleted', null, 'UNAUTHORIZED'],
  ] as const) {
    it(`a superuser who ${what} meanwhile changes nothing`, async () => {
      const { users, user, release, changeAccount, by } = await scene('match', { isSuperuser: true })
      const target = aUser()
      for (const one of [target, aUser({ isSuperuser: true })]) await users.insert(one, [])
      const changes = { password: 'a quite long pass phrase' }
      const change = changeAccount.execute({ by, target, changes, requestId: 'r' })
      if (meanwhile === null) await users.remove(user, [anEvent(user)])
      else await users.replace(meanwhile(user), [])
      await release()
      expect(codeOf(await change.catch((error: unknown) => error))).to.equal(code)
      expect(await users.find(target.id)).to.deep.equal(target)
    })
  }

  it('a superuser who loses the right meanwhile does not get it back by a change of the own account', async () => {
    const { users, user, release, changeAccount, by } = await scene('match', { isSuperuser: true })
    await users.insert(aUser({ isSuperuser: true }), [])
    const changes = { password: 'a quite long pass phrase', isSuperuser: true }
    const change = changeAccount.execute({ by, target: user, changes, requestId: 'r' })
    await users.replace({ ...user, isSuperuser: false }, [])
    await release()
    expect(codeOf(await change.catch((error: unknown) => error))).to.equal('FORBIDDEN')
    expect((await users.find(user.id))?.isSuperuser).to.equal(false)
  })

  it('the first of two changes with the same current password wins', async () => {
    const { users, user, release, changeOwnAccount, by } = await scene('match')
    const change = (password: string) =>
      changeOwnAccount.execute({ by, changes: { password }, currentPassword: 'the password', requestId: 'r' })
    const first = change('first quite long pass phrase')
    const second = change('second quite long pass phrase')
    await release()
    await first
    await release()
    expect(codeOf(await second.catch((error: unknown) => error))).to.equal('UPDATE_USER_BAD_CURRENT_PASSWORD')
    expect((await users.find(user.id))?.passwordHash).to.equal('$new$first quite long pass phrase')
  })
})
