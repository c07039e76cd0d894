import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { ChangeAccount } from '../../../src/application/accounts/change-account.ts'
import { ChangeOwnAccount } from '../../../src/application/accounts/change-own-account.ts'
import { type Limits, type PasswordAttempt, unlimited } from '../../../src/application/limits/limits.ts'
import { RequestToken } from '../../../src/application/one-time-tokens/request-token.ts'
import type { PasswordHasher } from '../../../src/application/ports/password-hasher.ts'
import type { Backend } from '../../../src/application/sign-in/authenticate.ts'
import { LogIn } from '../../../src/application/sign-in/log-in.ts'
import { type Email, emailKey } from '../../../src/domain/email.ts'
import { LimitReached, Refusal } from '../../../src/domain/refusal.ts'
import { type UniqueKey, unique } from '../../../src/domain/user-record.ts'
import { aCredential, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { quickHasher } from '../../../src/testing/quick-hasher.ts'
import { recordedHandlers } from '../../../src/testing/recorded-handlers.ts'
import { faultOf } from '../../support/fault-of.ts'
import { changeUserOf, deliveryNeeds } from '../../support/scenes/delivery.ts'

const password = 'a quite long pass phrase'
const requestId = 'request-1'
const caller = { client: '192.0.2.1', device: 'of-a-cookie' }

/** Limits that record each attempt and whether it was wrong, and refuse when they are told to. */
function recordedLimits() {
  const attempts: (PasswordAttempt & { readonly isWrong: boolean })[] = []
  const state = { isReached: false, attempts }
  const limits: Limits = {
    ...unlimited,
    async password(attempt, verify) {
      if (state.isReached) throw new LimitReached('client', 60)
      const verified = await verify()
      attempts.push({ ...attempt, isWrong: verified === null })
      return verified
    },
    maySendToken: async () => !state.isReached,
    mayTell: async () => true,
  }
  return { limits, state }
}

async function scene() {
  const clock = fixedClock()
  const stores = await deliveryNeeds(clock)
  const clients: unknown[] = []
  const hasher: PasswordHasher = {
    async hash(text, client) {
      clients.push(client)
      return await quickHasher.hash(text)
    },
    async verify(text, hash, client) {
      clients.push(client)
      return await quickHasher.verify(text, hash)
    },
  }
  const { limits, state } = recordedLimits()
  const needs = {
    ...stores,
    changeUser: changeUserOf(stores.users),
    hasher,
    limits,
    policy: { minLength: 0, isCommon: () => false },
    eventHandlers: recordedHandlers(),
    newId,
    freshLoginSeconds: null,
    deviceTokens: { idOf: () => null, issue: () => 'a device token' },
  }
  const user = aUser({
    isSuperuser: true,
    passwordHash: await quickHasher.hash(password),
    endedUntil: null,
    sessions: { generation: 0, keptSid: null },
  })
  await stores.users.insert(user, [])
  const credential = aCredential({ userId: user.id, expiresAt: clock() })
  const credentials: Backend['credentials'] = {
    recognises: () => true,
    issue: async () => ({ value: 'credential', credential }),
    read: async () => null,
    revoke: async () => 'ended',
    isEnded: async () => false,
    recordUse: async () => undefined,
  }
  const backend = { name: 'jwt', requiresVerification: false, credentials }
  const by = { user, credential, backend }
  const account = emailKey(user.email)
  return { ...stores, needs, clients, state, user, account, by, backend, clock }
}

describe('the use cases under limits', () => {
  it('LogIn counts wrong passwords by client, device and address as typed, also of unknown addresses', async () => {
    const { needs, state, user, account, backend, clients } = await scene()
    const logIn = new LogIn(needs)
    const attempt = (email: Email | null, text: string) =>
      faultOf(logIn.execute({ email, password: text, backend, requestId, caller }))
    await logIn.execute({ email: user.email, password, backend, requestId, caller })
    await attempt(user.email, 'wrong')
    await attempt('nobody@example.com' as Email, 'wrong') // safe: it is an address
    await attempt(null, 'wrong')
    const accounts = [account, account, 'nobody@example.com', null]
    const attempts = accounts.map((one, at) => ({ ...caller, requestId, account: one, isWrong: at > 0 }))
    expect(state.attempts).to.deep.equal(attempts)
    expect(clients).to.deep.equal(Array(4).fill('192.0.2.1'))
  })

  it('LogIn reads a login name once, whether or not a user has it, and counts it for the account or as typed', async () => {
    const { needs, state, user, account, backend } = await scene()
    const read: unknown[] = []
    const users = {
      ...needs.users,
      async findBy(key: UniqueKey) {
        read.push(key)
        return key.key === 'ada' ? user : null
      },
    }
    const logIn = new LogIn({ ...needs, users })
    const attempt = (name: string, field: string | null = 'username') =>
      faultOf(
        logIn.execute({
          email: null,
          name,
          password: 'wrong',
          requestId,
          caller,
          backend: { ...backend, loginField: field },
        }),
      )
    for (const name of [' ADA', 'Nobody', 'no@body']) await attempt(name)
    await attempt('ada', null)
    const counted = state.attempts.map((one) => one.account)
    const keys = await Promise.all(counted.map((one) => (typeof one === 'function' ? one() : one)))
    expect(keys).to.deep.equal([account, 'nobody', null, null])
    expect(read).to.deep.equal([unique.field('username', 'ada'), unique.field('username', 'nobody')])
  })

  it('LogIn neither reads a user nor hashes a password beyond a limit', async () => {
    const { needs, state, user, backend, clients } = await scene()
    const users = { ...needs.users, findBy: async () => expect.fail('it was read') }
    state.isReached = true
    const logIn = new LogIn({ ...needs, users })
    const refused = await faultOf(logIn.execute({ email: user.email, password, backend, requestId, caller }))
    expect(refused).to.be.instanceOf(LimitReached)
    expect(clients).to.deep.equal([])
  })

  it('LogIn succeeds when the limits of the hash pool prevent a re-hash', async () => {
    const { needs, user, backend, users } = await scene()
    const hasher: PasswordHasher = {
      hash: () => Promise.reject(new LimitReached('password hashing', 1)),
      verify: async () => 'match_needs_rehash',
    }
    const logIn = new LogIn({ ...needs, hasher })
    expect(await logIn.execute({ email: user.email, password, backend, requestId })).to.have.nested.property(
      'issued.value',
      'credential',
    )
    expect((await users.find(user.id))?.passwordHash).to.equal(user.passwordHash)
  })

  it('a change counts a wrong current password for the account of the acting user', async () => {
    const { needs, state, account, by, clients } = await scene()
    const [own, any] = [new ChangeOwnAccount(needs), new ChangeAccount(needs)]
    const target = aUser()
    await needs.users.insert(target, [])
    const input = { by, currentPassword: 'wrong', requestId, caller }
    for (const change of [own.execute({ ...input, changes: {} }), any.execute({ ...input, target, changes: {} })]) {
      expect(await faultOf(change))
        .to.be.instanceOf(Refusal)
        .with.property('code', 'UPDATE_USER_BAD_CURRENT_PASSWORD')
    }
    await own.execute({ ...input, currentPassword: password, changes: { password: 'another pass phrase' } })
    const attempts = [true, true, false].map((isWrong) => ({ ...caller, requestId, account, isWrong }))
    expect(state.attempts).to.deep.equal(attempts)
    expect(clients).to.deep.equal(Array(4).fill('192.0.2.1'))
  })

  it('a change counts nothing without a current password', async () => {
    const { needs, state, by } = await scene()
    await new ChangeOwnAccount(needs).execute({ by, changes: { password: 'another pass phrase' }, requestId, caller })
    expect(state.attempts).to.deep.equal([])
  })

  it('RequestToken writes nothing for an address that has got its tokens', async () => {
    const { needs, state, user, tokenRequests, clock } = await scene()
    const requestToken = new RequestToken(needs)
    const ask = () => requestToken.execute({ purpose: 'reset_password', email: user.email, requestId })
    state.isReached = true
    await ask()
    expect(await tokenRequests.lease(clock(), 10, 60)).to.deep.equal([])
    state.isReached = false
    await ask()
    expect(await tokenRequests.lease(clock(), 10, 60)).to.have.length(1)
  })
})
