import { isCommonPassword } from '../../adapters/crypto/common-passwords.ts'
import { derivedKeys } from '../../adapters/crypto/derived-keys.ts'
import { newId } from '../../adapters/crypto/new-id.ts'
import { handlerNameOf } from '../../adapters/events/handlers.ts'
import { countedLines } from '../../adapters/http/server/counted-lines.ts'
import type { Backlog } from '../../adapters/metrics/gauges.ts'
import type { DroppedEvents } from '../../application/sign-in/complete-login.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant } from '../settings/tenants.ts'
import { useCasesOf } from './container.ts'
import { deliveriesOf } from './deliveries.ts'
import { openHandlers } from './handlers.ts'
import { bindSecret, resolveSecret } from './master-secret.ts'
import { measuredLimits, measuredLogin } from './measured.ts'
import { openStores } from './open-stores.ts'
import { portsOf } from './ports.ts'
import { openHasher, type SharedResources } from './shared-resources.ts'
import { backendsOf, providersOf, reportProvider } from './sign-in.ts'

interface Needs extends SharedResources {
  readonly id: string
  readonly settings: Settings
  /** The address for browsers, without a final slash. */
  readonly publicUrl: string
  /** Whether the process shows a mailbox at `/try`. */
  readonly showsMailbox?: boolean
  /** Another process delivers the events. This one still sweeps expired records. */
  readonly leavesEvents?: boolean
  /** Called when a store that was down at the start turns out to be unsuitable. */
  readonly failed: (fault: unknown) => void
}

export type Tenant = Awaited<ReturnType<typeof openTenant>>

/** The largest number that is counted for each tenant, so that counting stays fast while millions wait. */
const mostCounted = 10_000

/**
 * Resolves after the first attempt at every store; a store that is down is tried again each second. Throws `SettingsFault`
 * or `Unsuitable` if no retry can help.
 */
export async function openTenant(needs: Needs) {
  const { id, settings, clock, shares, write, hashPool, outbound, metrics, isOneOfMany, eventHandlers } = needs
  const { publicUrl, showsMailbox = false, leavesEvents = false, failed } = needs
  const keyOwner = id === defaultTenant ? null : id
  const log = keyOwner === null ? needs.log : needs.log.child({ tenant: id })

  const master = await resolveSecret(settings)
  const { secret, origin, path, isOfAnEarlierStart, warnings } = master
  for (const warning of warnings) log.warn(warning)

  const hasher = openHasher(settings, hashPool)
  const handlers = await openHandlers(settings, {
    log,
    write,
    shares,
    clock,
    metrics,
    publicUrl,
    showsMailbox,
    tenant: keyOwner,
    own: eventHandlers,
    requestVerification: (email, { requestId, languages }) =>
      useCases.requestToken.execute({ purpose: 'verify_email', email, requestId, languages }),
  })
  const stores = await openStores({
    tenant: id,
    settings,
    clock,
    log,
    shares,
    metrics,
    isOneOfMany,
    failed,
    async whenUsersAreThere(users) {
      const mark = await bindSecret(users, master, keyOwner)
      if (origin === 'generated') log.info({ path }, 'generated a secret: keep this file with the data')
      if (mark === 'first' && isOfAnEarlierStart && settings.stores.users.kind !== 'memory') {
        log.warn({ path }, 'the user store is new, but its secret is older: check stores.users and dataFolder')
      }
      await hasher.prepare(await users.users.passwordSchemes())
      deliveries.usersAreReady()
    },
  }).catch(async (thrown: unknown) => {
    await handlers.close()
    throw thrown
  })

  const keyRing = derivedKeys(secret, keyOwner)
  const { users, sessions, tokens, oauthStates, limiter } = stores
  const unmeasured = portsOf(settings, {
    tenant: id,
    users,
    sessions,
    tokens,
    oauthStates,
    limiter,
    keyRing,
    hasher,
    eventHandlers: handlers.eventHandlers,
    clock,
    report({ type, ...problem }) {
      log.warn({ ...problem, handler: handlerNameOf(type) }, 'delivery failed')
      metrics?.deliveryFailed(problem.outcome)
      if (problem.error === 'Unavailable') void stores.failing()
    },
    reportProvider: (name, failure) => reportProvider(log, name, failure),
    attacked: (attack) =>
      void useCases.reportAttack.execute(attack).catch((err: unknown) => {
        log.warn({ err, requestId: attack.requestId }, 'an attacked account could not be reported')
      }),
    withheld: (demand) => log.warn(demand, 'requests for tokens of an address reached limits.tokensPerAddress'),
    warnOfAttack: (report) => log.warn(report, 'wrong passwords for an account reached limits.passwordsPerAccount'),
    warnOfDropped: countedLines<DroppedEvents>({
      kindOf: () => 'login',
      write: (dropped, logins) =>
        log.warn({ ...dropped, logins }, 'the events of logins were dropped: too many events of a user wait'),
    }),
    wakeRelay: () => deliveries.wake(),
  })
  const ports = { ...unmeasured, limits: measuredLimits(unmeasured.limits, metrics) }
  const { expiringIds, outbox, tokenRequests } = users
  const all = useCasesOf(ports)
  const useCases = {
    ...all,
    logIn: measuredLogin(all.logIn, metrics),
    finishOAuth: measuredLogin(all.finishOAuth, metrics),
  }
  const deliveries = deliveriesOf({ useCases, ports, leavesEvents, failing: stores.failing, log })
  const backends = backendsOf(settings.backends, { sessions, expiringIds, keyRing, tenant: id, clock, newId })

  for (const { name } of backends) metrics?.backendOpened(name)

  async function backlog(): Promise<Backlog | null> {
    if (!stores.isReady()) return null
    const counts = async (records: typeof outbox | typeof tokenRequests) => ({
      waiting: await records.count('waiting', mostCounted),
      dead: await records.count('dead', mostCounted),
    })
    try {
      return { event: await counts(outbox), token_request: await counts(tokenRequests) }
    } catch (thrown) {
      if (thrown instanceof Unavailable) void stores.failing()
      else log.warn({ err: thrown }, 'a background task failed')
      return null
    }
  }

  async function close(): Promise<void> {
    deliveries.close()
    const closed = await Promise.allSettled([handlers.close(), stores.close()])
    for (const one of closed) if (one.status === 'rejected') throw one.reason
  }

  try {
    await stores.prepare()
  } catch (thrown) {
    await close()
    throw thrown
  }
  deliveries.chore(async () => {
    isCommonPassword('') // reads the list now, so that the first registration is not slower
    await hasher.prepare(await users.users.passwordSchemes())
  })

  return {
    ...deliveries,
    id,
    settings,
    /** Each line names the tenant, unless it is `default`. */
    log,
    ports,
    useCases,
    backends,
    providers: providersOf(settings.providers, { outbound, clock }),
    mailbox: handlers.mailbox,
    isReady: stores.isReady,
    failing: stores.failing,
    storeStates: stores.storeStates,
    /** The number of undelivered events and token requests; `null` while the store of users does not answer. */
    backlog,
    close,
  }
}
