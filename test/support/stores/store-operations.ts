import type { StorePorts } from '../../../src/adapters/stores/store-ports.ts'
import { emailKey } from '../../../src/domain/email.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { unique } from '../../../src/domain/user-record.ts'
import { anEvent, aSession, aSingleUseRecord, aToken, aTokenRequest, aUser } from '../../../src/testing/builders.ts'
import { eventually } from '../eventually.ts'
import { inTime } from '../in-time.ts'

type Operations = Readonly<Record<string, () => Promise<unknown>>>

/** One call of every operation of every role that the store has. */
export function everyOperation(store: StorePorts): Operations {
  const {
    users,
    outbox,
    tokenRequests,
    expiringMarks,
    tenantTexts,
    loginTimes,
    sessions,
    tokens,
    singleUseRecords,
    limiter,
  } = store
  const { userIds, refusedLogins } = store
  const user = aUser()
  const request = aTokenRequest()
  const token = aToken()
  const session = aSession()
  const state = aSingleUseRecord()
  const now = new Date()
  const lease = { sink: 'mail', userId: user.id, leaseId: 'lease', event: anEvent(user), attempts: 1 }
  return {
    ...(users && {
      find: () => users.find(user.id),
      findBy: () => users.findBy(unique.email(emailKey(user.email))),
      insert: () => users.insert(user, [anEvent(user)]),
      replace: () => users.replace(user, [anEvent(user)]),
      remove: () => users.remove(user, [anEvent(user)]),
      listUsers: () => users.list(10, null),
      search: () => users.search({ isVerified: true, isActive: true }, 10, null),
      countUsers: () => users.count({}, 10),
      passwordSchemes: () => users.passwordSchemes(),
    }),
    ...(outbox && {
      append: () => outbox.append([anEvent(user)]),
      distribute: () => outbox.distribute(now, 10, { registered: ['mail'] }),
      lease: () => outbox.lease('mail', now, 10, 60),
      renew: () => outbox.renew(lease, now),
      settle: () => outbox.settle(lease),
      postpone: () => outbox.postpone(lease, now, 'reason'),
      bury: () => outbox.bury(lease, now, 'reason'),
      release: () => outbox.release(lease, new Date()),
      nextDue: () => outbox.nextDue(['mail']),
      list: () => outbox.list('waiting', 10, null),
      countBySink: () => outbox.countBySink(10),
      revive: () => outbox.revive([{ eventId: lease.event.id, sink: 'mail' }], now),
      discard: () => outbox.discard([{ eventId: lease.event.id, sink: 'mail' }]),
      sweepDead: () => outbox.sweepDead(now, 10),
    }),
    ...(tokenRequests && {
      ask: () => tokenRequests.ask(request),
      leaseRequests: () => tokenRequests.lease(now, 10, 60),
      bind: () => tokenRequests.bind(request, 'fact', user.id),
      postponeRequest: () => tokenRequests.postpone([request], now),
      buryRequest: () => tokenRequests.bury(request, now, 'reason'),
      listRequests: () => tokenRequests.list('dead', 10, null),
      reviveRequest: () => tokenRequests.revive(request),
      discardRequest: () => tokenRequests.discard(request),
      sweepDeadRequests: () => tokenRequests.sweepDead(now, 10),
      settleRequests: () => tokenRequests.settle([request]),
    }),
    ...(tenantTexts && {
      readText: () => tenantTexts.read('name'),
      exchangeText: () => tenantTexts.exchange('name', null, 'text'),
    }),
    ...(userIds && {
      keepKind: () => userIds.keep('uuid'),
      keptKind: () => userIds.kept(),
      nextNumber: () => userIds.next(),
    }),
    ...(loginTimes && {
      recordLogin: () => loginTimes.recordLogin(user.id, now),
      lastLogin: () => loginTimes.lastLogin(user.id),
    }),
    ...(expiringMarks && {
      addId: () => expiringMarks.add('id', now),
      hasId: () => expiringMarks.has('id'),
      sweepIds: () => expiringMarks.sweep(10),
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
    ...(singleUseRecords && {
      putState: () => singleUseRecords.put(state, 10),
      takeState: () => singleUseRecords.take(state.key),
    }),
    ...(limiter && {
      addPoints: () => limiter.add('key', 1, 60),
      clearPoints: () => limiter.clear('key'),
    }),
    ...(refusedLogins && {
      addRefused: () => refusedLogins.add('key', { reason: 'wrong_password', detail: null, at: now }),
      listRefused: () => refusedLogins.list('key', now),
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
export async function everythingWorks(handle: StorePorts): Promise<void> {
  const isSuccess = (outcomes: Set<string>) => outcomes.size === 1 && outcomes.has('ok')
  await eventually('every operation', async () => isSuccess(await outcomesOf(everyOperation(handle))))
}
