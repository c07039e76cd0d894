import type { StoreHandle } from '../../src/adapters/stores/store-backend.ts'
import { emailKey } from '../../src/domain/email.ts'
import { Unavailable } from '../../src/domain/refusal.ts'
import { anEvent, anOAuthState, aSession, aToken, aTokenRequest, aUser } from '../../src/testing/builders.ts'
import { eventually } from './eventually.ts'
import { inTime } from './in-time.ts'

type Operations = Readonly<Record<string, () => Promise<unknown>>>

/** One call of every operation of every role that the store has. */
export function everyOperation({ users, sessions, tokens, oauthStates, limiter }: StoreHandle): Operations {
  const user = aUser()
  const request = aTokenRequest()
  const token = aToken()
  const session = aSession()
  const state = anOAuthState()
  const now = new Date()
  const lease = { userId: user.id, leaseId: 'lease', event: anEvent(user), attempts: 1 }
  return {
    ...(users && {
      checkSecret: () => users.checkSecret('mark'),
      find: () => users.users.find(user.id),
      findByEmail: () => users.users.findByEmail(emailKey(user.email)),
      findByOAuthAccount: () => users.users.findByOAuthAccount('acme', 'account'),
      insert: () => users.users.insert(user, [anEvent(user)]),
      replace: () => users.users.replace(user, [anEvent(user)]),
      remove: () => users.users.remove(user, [anEvent(user)]),
      listUsers: () => users.users.list(10, null),
      passwordSchemes: () => users.users.passwordSchemes(),
      lease: () => users.outbox.lease(now, 10, 60),
      renew: () => users.outbox.renew(lease, now),
      settle: () => users.outbox.settle(lease),
      postpone: () => users.outbox.postpone(lease, now, 'reason'),
      bury: () => users.outbox.bury(lease, now, 'reason'),
      release: () => users.outbox.release(lease),
      nextDue: () => users.outbox.nextDue(),
      list: () => users.outbox.list('waiting', 10, null),
      revive: () => users.outbox.revive('all', now, 10),
      sweepDead: () => users.outbox.sweepDead(now, 10),
      ask: () => users.tokenRequests.ask(request),
      leaseRequests: () => users.tokenRequests.lease(now, 10, 60),
      bind: () => users.tokenRequests.bind(request, 'fact', user.id),
      postponeRequest: () => users.tokenRequests.postpone([request], now),
      buryRequest: () => users.tokenRequests.bury(request, now, 'reason'),
      listRequests: () => users.tokenRequests.list('dead', 10, null),
      reviveRequest: () => users.tokenRequests.revive(request),
      sweepDeadRequests: () => users.tokenRequests.sweepDead(now, 10),
      settleRequests: () => users.tokenRequests.settle([request]),
      addId: () => users.expiringIds.add('id', now),
      hasId: () => users.expiringIds.has('id'),
      sweepIds: () => users.expiringIds.sweep(10),
    }),
    ...(sessions && {
      putSession: () => sessions.put(session),
      findSession: () => sessions.find(session.digest),
      recordUse: () => sessions.recordUse(session.digest, now),
      removeSession: () => sessions.remove(session.digest),
      listOf: () => sessions.listOf(session.userId),
      removeAllSessionsOf: () => sessions.removeAllOf(session.userId),
    }),
    ...(tokens && {
      putToken: () => tokens.put(token),
      findToken: () => tokens.find(token.purpose, token.digest),
      current: () => tokens.current(token.purpose, token.userId),
      removeToken: () => tokens.remove(token.purpose, token.digest),
      removeAllTokensOf: () => tokens.removeAllOf(token.userId),
    }),
    ...(oauthStates && {
      putState: () => oauthStates.put(state, 10),
      takeState: () => oauthStates.take(state.digest),
    }),
    ...(limiter && {
      addPoints: () => limiter.add('key', 1, 60),
      clearPoints: () => limiter.clear('key'),
    }),
  }
}

/** The outcomes of these calls: `ok`, `Unavailable` or an error. */
export async function outcomesOf(calls: Operations): Promise<Set<string>> {
  const each = Object.entries(calls).map(async ([name, call]) => {
    const begun = performance.now()
    const outcome = await call().then(
      () => 'ok',
      (error: unknown) => (error instanceof Unavailable ? 'Unavailable' : `${name}: ${error}`),
    )
    const took = performance.now() - begun
    return took > inTime ? `${name}: ${outcome} after ${took} ms` : outcome
  })
  return new Set(await Promise.all(each))
}

/** Waits until every operation succeeds: a busy server may answer some of them too late. */
export async function everythingWorks(handle: StoreHandle): Promise<void> {
  const isSuccess = (outcomes: Set<string>) => outcomes.size === 1 && outcomes.has('ok')
  await eventually('every operation', async () => isSuccess(await outcomesOf(everyOperation(handle))))
}
