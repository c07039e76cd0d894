import { expect } from 'chai'
import { toEmail } from '../../src/adapters/addresses/parse-email.ts'
import { newId } from '../../src/adapters/crypto/new-id.ts'
import { ChangeAccount } from '../../src/application/accounts/change-account.ts'
import { ChangeOwnAccount } from '../../src/application/accounts/change-own-account.ts'
import { RelayEvents } from '../../src/application/deliveries/relay-events.ts'
import { runDue } from '../../src/application/deliveries/run-due.ts'
import { ResetPassword } from '../../src/application/one-time-tokens/reset-password.ts'
import { VerifyUser } from '../../src/application/one-time-tokens/verify-user.ts'
import { HandlerFailed } from '../../src/application/ports/event-handlers.ts'
import type { Authenticated, Backend } from '../../src/application/sign-in/authenticate.ts'
import { LogOutEverywhere } from '../../src/application/sign-in/log-out-everywhere.ts'
import { emailKey } from '../../src/domain/email.ts'
import { factOf } from '../../src/domain/one-time-token.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import type { User } from '../../src/domain/user.ts'
import { unique } from '../../src/domain/user-record.ts'
import { aCredential, aToken, aUser } from '../../src/testing/builders.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { quickHasher } from '../../src/testing/quick-hasher.ts'
import { changeUserOf, deliveryNeeds, recording, sinksTo } from '../support/scenes/delivery.ts'

const requestId = 'request-of-a-test'
const [present, wanted, other] = ['old@example.com', 'new@example.com', 'other@example.com'].map(toEmail) as [
  ReturnType<typeof toEmail>,
  ReturnType<typeof toEmail>,
  ReturnType<typeof toEmail>,
]
const backend = { credentials: { isEnded: async () => false } } as unknown as Backend // safe: nothing else is called

async function scene({
  requiresSession = false,
  fields = {},
  act = () => undefined,
  maySend = () => true,
}: {
  requiresSession?: boolean
  maySend?: () => boolean
  fields?: Partial<User>
  act?: () => void
} = {}) {
  const clock = fixedClock()
  const eventHandlers = recording(act)
  const delivery = await deliveryNeeds(clock)
  const needs = {
    ...delivery,
    eventHandlers,
    handlerTimeoutSeconds: 10,
    hasher: quickHasher,
    limits: { ...delivery.limits, maySendToken: async () => maySend() },
    policy: { minLength: 8, isCommon: () => false },
    freshLoginSeconds: null,
    newAddressTokens: delivery,
    requiresSession,
    newId,
  }
  const { users } = needs
  const insert = async (more: Partial<User> = {}): Promise<Authenticated> => {
    const user = aUser({ isActive: true, isVerified: true, endedUntil: null, oauthAccounts: [], ...more })
    await users.insert(user, [])
    const { generation } = user.sessions
    const credential = aCredential({ userId: user.id, generation, provedAt: clock() })
    return { user, credential, backend }
  }
  const all = { ...needs, changeUser: changeUserOf(users) }
  const [update, verify] = [new ChangeOwnAccount(all), new VerifyUser(all)]
  const by = await insert({ email: present, ...fields })
  const relay = new RelayEvents({ ...needs, sinks: sinksTo(eventHandlers, needs) })
  const tokens = () => eventHandlers.calls.flatMap(({ token }) => token ?? [])

  return {
    ...needs,
    all,
    by,
    clock,
    insert,
    calls: eventHandlers.calls,
    relay,
    find: async () => (await users.find(by.user.id)) as User, // safe: nothing removes it
    ask: async (email = wanted) => await update.execute({ by, changes: { email }, requestId }),
    /** Asks, and returns the delivered token. */
    async tokenFor(email = wanted) {
      await update.execute({ by, changes: { email }, requestId })
      await runDue(relay)
      return tokens().at(-1) ?? ''
    },
    tokens,
    redeem: (token: string, session: Authenticated | null = by) =>
      verify.execute({ token, by: session, requestId }).catch(codeOf),
  }
}

function codeOf(thrown: unknown): string {
  if (thrown instanceof Refusal) return thrown.code
  throw thrown
}

describe('a new address that has to be confirmed', () => {
  it('counts once its token is used, and not before', async () => {
    const { ask, find, users, calls, relay, tokens, redeem, by } = await scene()
    const answer = await ask()
    expect(answer).to.include({ email: present, isVerified: true })
    await runDue(relay)
    expect(await users.findBy(unique.email(emailKey(wanted)))).to.equal(null)
    expect(calls.map(({ type, user }) => [type, user.email, user.isVerified])).to.deep.equal([
      ['verification_requested', wanted, false],
    ])

    expect(await redeem(tokens()[0] ?? '')).to.include({ id: by.user.id, email: wanted, isVerified: true })
    expect(await users.findBy(unique.email(emailKey(present)))).to.equal(null)
    expect(await find()).to.include({ email: wanted, isVerified: true, isOwnerProved: true })
    await runDue(relay)
    await runDue(relay)
    expect(calls.slice(1).map(({ type, user, changes }) => [type, user.email, changes])).to.deep.equal([
      ['updated', wanted, { email: wanted, previousEmail: present }],
      ['verified', wanted, undefined],
    ])
    expect(await redeem(tokens()[0] ?? ''), 'again').to.equal('VERIFY_USER_BAD_TOKEN')
  })

  it('tells handlers that the account was not verified before', async () => {
    const { tokenFor, redeem, relay, calls } = await scene({ fields: { isVerified: false } })
    await redeem(await tokenFor())
    await runDue(relay)
    const { changes } = calls.find(({ type }) => type === 'updated') ?? {}
    expect(changes).to.deep.equal({ email: wanted, previousEmail: present, isVerified: true })
  })

  for (const requiresSession of [false, true]) {
    it(`counts only within a session of its account, with verification.requiresSession: ${requiresSession}`, async () => {
      const { tokenFor, redeem, insert, find } = await scene({ requiresSession })
      const token = await tokenFor()
      expect(await redeem(token, null), 'no session').to.equal('UNAUTHORIZED')
      expect(await redeem(token, await insert()), 'the session of another').to.equal('UNAUTHORIZED')
      expect(await find()).to.include({ email: present })
      expect(await redeem(token), 'the token is not spent').to.include({ email: wanted, isOwnerProved: true })
    })
  }

  it('waits for no token if only the spelling changes, or if a superuser sets it', async () => {
    const { all, ask, by, insert, find } = await scene()
    expect(await ask(toEmail('OLD@example.com'))).to.include({ email: 'OLD@example.com', isVerified: true })
    const root = await insert({ isSuperuser: true })
    await new ChangeAccount(all).execute({ by: root, target: by.user, changes: { email: other }, requestId })
    expect(await find()).to.include({ email: other, isVerified: false })
  })

  it('is the last one that the user asked for', async () => {
    const { ask, tokenFor, redeem, relay, tokens, find } = await scene()
    const first = await tokenFor(other)
    await ask()
    expect(await redeem(first), 'before the second message').to.equal('VERIFY_USER_BAD_TOKEN')
    await runDue(relay)
    expect(await redeem(first)).to.equal('VERIFY_USER_BAD_TOKEN')
    await redeem(tokens().at(-1) ?? '')
    expect(await find()).to.include({ email: wanted })
  })

  it('is not undone by a request that began before it was confirmed', async () => {
    const { ask, find, redeem, tokenFor } = await scene()
    await redeem(await tokenFor())
    // `by` has the record as it was before.
    expect(await ask(present)).to.include({ email: wanted, isVerified: true })
    expect(await find()).to.include({ email: wanted, isVerified: true })
  })

  it('keeps a token that waits for its record while an earlier event is cleaned up', async () => {
    const { all, by, users, relay, tokens, redeem, tokenFor, clock, find } = await scene()
    await redeem(await tokenFor())
    clock.advance(1)
    const slow: typeof users.replace = async (user, events) => {
      await runDue(relay) // cleans up after the change of the address
      return await users.replace(user, events)
    }
    const changeUser = changeUserOf({ ...users, replace: slow })
    const changes = { email: other, password: 'a new pass phrase' }
    await new ChangeOwnAccount({ ...all, changeUser }).execute({
      by: { ...by, user: await find() },
      changes,
      requestId,
    })
    await runDue(relay)
    expect(await redeem(tokens().at(-1) ?? '')).to.include({ email: other })
  })

  it('is bound to the record with which its request is written', async () => {
    const { all, by, insert, find, redeem, relay, tokens } = await scene()
    const root = await insert({ isSuperuser: true })
    let puts = 0
    const put: typeof all.tokens.put = async (token) => {
      await all.tokens.put(token)
      if (puts++ > 0) return
      await new ChangeAccount(all).execute({ by: root, target: by.user, changes: { email: other }, requestId })
    }
    const newAddressTokens = { ...all, tokens: { ...all.tokens, put } }
    await new ChangeOwnAccount({ ...all, newAddressTokens }).execute({ by, changes: { email: wanted }, requestId })
    for (let round = 0; round < 3; round++) await runDue(relay)
    expect(await redeem(tokens()[0] ?? '')).to.include({ email: wanted })
    expect([puts, tokens().length]).to.deep.equal([2, 1])
    expect(await find()).to.include({ email: wanted })
  })

  it('stays void when the user returns to the former address, whatever the clocks of processes say', async () => {
    const { all, by, clock, find, insert, redeem, relay, tokenFor } = await scene()
    const root = await insert({ isSuperuser: true })
    const setAddress = async (email: typeof present) => {
      await new ChangeAccount(all).execute({ by: root, target: await find(), changes: { email }, requestId })
      await runDue(relay)
    }
    clock.advance(10)
    const token = await tokenFor()
    clock.advance(-7)
    await setAddress(other)
    await setAddress(by.user.email)
    expect(await redeem(token)).to.equal('VERIFY_USER_BAD_TOKEN')
  })

  it('gets no further token if it is confirmed while the request hashes a password', async () => {
    const { all, by, calls, find, redeem, relay, tokenFor } = await scene()
    const token = await tokenFor()
    const hasher = {
      ...quickHasher,
      hash: async (password: string) => {
        await redeem(token)
        return await quickHasher.hash(password)
      },
    }
    const changes = { email: wanted, password: 'a new pass phrase' }
    await new ChangeOwnAccount({ ...all, hasher }).execute({ by, changes, requestId })
    await runDue(relay)
    expect(await find()).to.include({ email: wanted, isVerified: true })
    expect(calls.filter(({ type }) => type === 'verification_requested')).to.have.length(1)
  })

  it('gets no token once the user has asked for another one', async () => {
    const { ask, relay, tokens, redeem } = await scene()
    await ask(other)
    await ask()
    for (let round = 0; round < 2; round++) await runDue(relay)
    expect(tokens()).to.have.length(1)
    expect(await redeem(tokens()[0] ?? '')).to.include({ email: wanted })
  })

  it('gets the same token when the user asks again, and keeps it when no message may be sent', async () => {
    let isFull = false
    const { tokenFor, tokens, redeem } = await scene({ maySend: () => !isFull })
    const token = await tokenFor()
    expect(await tokenFor()).to.equal(token)
    isFull = true
    await tokenFor()
    expect(tokens()).to.deep.equal([token, token])
    expect(await redeem(token)).to.include({ email: wanted })
  })

  it('is void after a later one that may get no message', async () => {
    let isFull = false
    const { ask, relay, tokens, tokenFor, redeem } = await scene({ maySend: () => !isFull })
    const token = await tokenFor()
    await ask()
    isFull = true
    await ask(other)
    await runDue(relay)
    expect(tokens()).to.deep.equal([token])
    expect(await redeem(token)).to.equal('VERIFY_USER_BAD_TOKEN')
  })

  it('keeps its token when a later change is refused', async () => {
    const { all, by, tokenFor, redeem } = await scene()
    const token = await tokenFor()
    const changes = { email: other, password: 'short' }
    const refused = new ChangeOwnAccount(all).execute({ by, changes, requestId })
    expect(await refused.catch(codeOf)).to.equal('UPDATE_USER_INVALID_PASSWORD')
    expect(await redeem(token)).to.include({ email: wanted })
  })

  const voids: Record<string, (at: Awaited<ReturnType<typeof scene>>) => Promise<unknown>> = {
    'every login ends': ({ all, by }) => new LogOutEverywhere(all).execute({ by, target: by.user, requestId }),
    'the password is reset': async ({ all, by, tokens: _, ...at }) => {
      const purpose = 'reset_password'
      const fact = factOf(purpose, by.user)
      const expiresAt = new Date(at.clock().getTime() + 60_000)
      const reset = aToken({ purpose, userId: by.user.id, digest: all.keyRing.digest('reset'), fact, expiresAt })
      await all.tokens.put(reset)
      await new ResetPassword(all).execute({ token: 'reset', password: 'another pass phrase', requestId })
    },
    'the password changes': ({ all, by }) =>
      new ChangeOwnAccount(all).execute({ by, changes: { password: 'another pass phrase' }, requestId }),
    'the account is deactivated for a while': async ({ all, by, insert }) => {
      const update = new ChangeAccount(all)
      const root = await insert({ isSuperuser: true })
      for (const isActive of [false, true]) {
        await update.execute({ by: root, target: by.user, changes: { isActive }, requestId })
      }
    },
    'the user enters the present address': ({ ask }) => ask(present),
    'a superuser sets another address': async ({ all, by, insert }) => {
      const root = await insert({ isSuperuser: true })
      await new ChangeAccount(all).execute({ by: root, target: by.user, changes: { email: other }, requestId })
    },
    'its time is over': async ({ clock }) => clock.advance(86_400),
  }
  for (const [what, act] of Object.entries(voids)) {
    it(`is void after ${what}`, async () => {
      const at = await scene()
      const token = await at.tokenFor()
      await act(at)
      expect(await at.redeem(token)).to.equal('VERIFY_USER_BAD_TOKEN')
      expect((await at.find()).email).to.not.equal(wanted)
    })

    it(`gets no token after ${what}`, async () => {
      const at = await scene()
      await at.ask()
      await act(at)
      for (let round = 0; round < 5; round++) await runDue(at.relay)
      expect(at.tokens()).to.deep.equal([])
    })
  }

  it('invalidates reset tokens for the old address', async () => {
    const { all, by, clock, tokenFor, redeem } = await scene()
    const purpose = 'reset_password'
    const expiresAt = new Date(clock().getTime() + 60_000)
    const fact = factOf(purpose, by.user)
    await all.tokens.put(aToken({ purpose, userId: by.user.id, digest: all.keyRing.digest('reset'), fact, expiresAt }))
    await redeem(await tokenFor())
    const reset = new ResetPassword(all).execute({ token: 'reset', password: 'another pass phrase', requestId })
    expect(await reset.catch(codeOf)).to.equal('RESET_PASSWORD_BAD_TOKEN')
  })

  it('gets the same token from a repeated delivery', async () => {
    let isBroken = true
    const { ask, relay, tokens, clock } = await scene({
      act() {
        if (isBroken) throw new HandlerFailed('Error', 'the mail server is down')
      },
    })
    await ask()
    await runDue(relay)
    isBroken = false
    clock.advance(60)
    await runDue(relay)
    const [first, second] = tokens()
    expect(first).to.match(/^[\w-]{43}$/)
    expect(second).to.equal(first)
  })
})
