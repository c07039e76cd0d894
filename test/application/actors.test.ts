import { expect } from 'chai'
import { newId } from '../../src/adapters/crypto/new-id.ts'
import { ChangeAccount } from '../../src/application/accounts/change-account.ts'
import { ChangeOwnAccount } from '../../src/application/accounts/change-own-account.ts'
import { CreateSuperuser } from '../../src/application/accounts/create-superuser.ts'
import { DeleteUser } from '../../src/application/accounts/delete-user.ts'
import { RegisterUser } from '../../src/application/accounts/register-user.ts'
import { CreateUser } from '../../src/application/administration/create-user.ts'
import { InviteUser } from '../../src/application/administration/invite-user.ts'
import { issueToken } from '../../src/application/one-time-tokens/issue-token.ts'
import { RejectAccount } from '../../src/application/one-time-tokens/reject-account.ts'
import { ResetPassword } from '../../src/application/one-time-tokens/reset-password.ts'
import { VerifyUser } from '../../src/application/one-time-tokens/verify-user.ts'
import type { Authenticated, By } from '../../src/application/sign-in/authenticate.ts'
import { completeLogin } from '../../src/application/sign-in/complete-login.ts'
import { LogOutEverywhere } from '../../src/application/sign-in/log-out-everywhere.ts'
import type { Actor } from '../../src/domain/actor.ts'
import type { Email } from '../../src/domain/email.ts'
import { factOf } from '../../src/domain/one-time-token.ts'
import type { User } from '../../src/domain/user.ts'
import { aCredential, aUser } from '../../src/testing/builders.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { quickHasher } from '../../src/testing/quick-hasher.ts'
import { changeUserOf, deliveryNeeds, recording } from '../support/scenes/delivery.ts'

const requestId = 'request-of-a-test'
const email = 'ada@example.com' as Email // safe: it is one
const password = 'correct horse battery staple'

async function scene() {
  const clock = fixedClock()
  const stores = await deliveryNeeds(clock)
  const needs = {
    ...stores,
    changeUser: changeUserOf(stores.users),
    hasher: quickHasher,
    policy: { minLength: 0, isCommon: () => false },
    eventHandlers: recording(undefined, 'deletion_requested'),
    deviceTokens: { idOf: () => null, issue: () => 'a device token' },
    newId,
    freshLoginSeconds: null,
    requiresSession: false,
  }
  const as = (user: User): Authenticated => {
    const credential = aCredential({ userId: user.id, sid: `login of ${user.id}` })
    const credentials = { isEnded: async () => false, issue: async () => ({ value: 'text', credential }) }
    // Safe: the use cases call no other method.
    return { user, credential, backend: { name: 'jwt', credentials, requiresVerification: false } as never }
  }
  const somebody = async (fields: Partial<User> = {}) => {
    const plain = { isSuperuser: false, isVerified: false, endedUntil: null, createdAt: clock() }
    const user = aUser({ ...plain, sessions: { generation: 0, keptSid: null }, ...fields })
    await stores.users.insert(user, [])
    return user
  }
  const token = async (purpose: 'reset_password' | 'verify_email' | 'invite', user: User) => {
    const issue = { purpose, user, fact: factOf(purpose, user), eventId: newId(), isRepeated: false }
    return (await issueToken(needs, issue)).token
  }
  /** The actors of all events, without repetitions. */
  const actors = async (): Promise<(Actor | undefined)[]> => {
    const by = (await stores.outbox.list('waiting', 100, null)).items.map(({ event }) => JSON.stringify(event.by))
    return [...new Set(by)].map((text) => text && JSON.parse(text))
  }
  return { needs, as, somebody, token, actors }
}

type Scene = Awaited<ReturnType<typeof scene>>
type Act = (site: Scene) => Promise<Actor>

const userOf = ({ user, credential }: Authenticated, type: 'user' | 'superuser' = 'user'): Actor => {
  return { type, id: user.id, sid: credential.sid }
}

const acts: Readonly<Record<string, Act>> = {
  async 'a registration by a client'({ needs }) {
    await new RegisterUser(needs).execute({ email, password, requestId })
    return { type: 'nobody' }
  },
  async 'a registration by a program'({ needs }) {
    await new RegisterUser(needs).execute({ email, password, requestId, by: { type: 'program' } })
    return { type: 'program' }
  },
  async 'a superuser of a program'({ needs }) {
    await new CreateSuperuser(needs).execute({ email, password, requestId })
    return { type: 'program' }
  },
  async 'a superuser of a command'({ needs }) {
    await new CreateSuperuser(needs).execute({ email, password, requestId, by: { type: 'command' } })
    return { type: 'command' }
  },
  async 'a user of a superuser'({ needs, as, somebody }) {
    const by = as(await somebody({ isSuperuser: true }))
    await new CreateUser(needs).execute({ by, email, password, requestId })
    return userOf(by, 'superuser')
  },
  async 'an invitation by a superuser'({ needs, as, somebody }) {
    const by = as(await somebody({ isSuperuser: true }))
    await new CreateUser(needs).execute({ by, email, invite: true, requestId })
    return userOf(by, 'superuser')
  },
  async 'a further invitation by a command'({ needs, somebody }) {
    const by: By = { type: 'command' }
    await new InviteUser(needs).execute({ by, target: await somebody({ passwordHash: null }), requestId })
    return by
  },
  async 'an accepted invitation'({ needs, somebody, token }) {
    const user = await somebody({ passwordHash: null })
    await new ResetPassword(needs).execute({ token: await token('invite', user), password, requestId })
    return { type: 'user', id: user.id, sid: null }
  },
  async 'a login'({ needs, as, somebody }) {
    const by = as(await somebody())
    await completeLogin(needs, {
      user: by.user,
      backend: by.backend,
      methods: ['pwd'],
      requestId,
    })
    return userOf(by)
  },
  async 'a change of the own account'({ needs, as, somebody }) {
    const by = as(await somebody())
    await new ChangeOwnAccount(needs).execute({ by, changes: { password }, requestId })
    return userOf(by)
  },
  async 'a change by a superuser'({ needs, as, somebody }) {
    const by = as(await somebody({ isSuperuser: true }))
    await new ChangeAccount(needs).execute({ by, target: await somebody(), changes: { isVerified: true }, requestId })
    return userOf(by, 'superuser')
  },
  async 'a logout everywhere by a command'({ needs, somebody }) {
    const by: By = { type: 'command' }
    await new LogOutEverywhere(needs).execute({ by, target: await somebody(), requestId })
    return by
  },
  async 'a deletion by a program'({ needs, somebody }) {
    const by: By = { type: 'program' }
    await new DeleteUser(needs).execute({ by, target: await somebody(), requestId })
    return by
  },
  async 'a reset'({ needs, somebody, token }) {
    const user = await somebody()
    await new ResetPassword(needs).execute({ token: await token('reset_password', user), password, requestId })
    return { type: 'user', id: user.id, sid: null }
  },
  async 'a verification within a login'({ needs, as, somebody, token }) {
    const by = as(await somebody())
    await new VerifyUser(needs).execute({ token: await token('verify_email', by.user), by, requestId })
    return userOf(by)
  },
  async 'a verification within the login of another user'({ needs, as, somebody, token }) {
    const user = await somebody()
    const by = as(await somebody())
    await new VerifyUser(needs).execute({ token: await token('verify_email', user), by, requestId })
    return { type: 'user', id: user.id, sid: null }
  },
  async 'the rejection of an account'({ needs, somebody, token }) {
    await new RejectAccount(needs).execute({ token: await token('verify_email', await somebody()), requestId })
    return { type: 'nobody' }
  },
}

describe('the actor of an event', () => {
  for (const [name, act] of Object.entries(acts)) {
    it(`is known after ${name}`, async () => {
      const site = await scene()
      const expected = await act(site)
      expect(await site.actors()).to.deep.equal([expected])
    })
  }
})
