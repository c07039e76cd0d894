import { existsSync } from 'node:fs'
import { isCommonPassword } from '../../adapters/crypto/common-passwords.ts'
import { derivedKeys, secretMark } from '../../adapters/crypto/derived-keys.ts'
import { newId } from '../../adapters/crypto/new-id.ts'
import { type DeliveryLoop, deliveryLoop } from '../../adapters/events/delivery-loop.ts'
import type { HttpBackend } from '../../adapters/http/transports/http-backend.ts'
import type { Logger } from '../../adapters/logging/log.ts'
import { pathIn } from '../../adapters/stores/sqlite/data-file.ts'
import { CreateSuperuser } from '../../application/accounts/create-superuser.ts'
import { PromoteUser } from '../../application/accounts/promote-user.ts'
import { ChangeUser } from '../../application/change-user.ts'
import type { OAuthProvider } from '../../application/ports/oauth-provider.ts'
import type { Outbox } from '../../application/ports/stores/outbox.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { discardGenerated, type MasterSecret, resolveSecret } from '../settings/master-secret.ts'
import { type Fault, SettingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant } from '../settings/tenants.ts'
import { type UseCases, useCasesOf } from './container.ts'
import { type OpenHandlers, openHandlers } from './handlers.ts'
import { type Ports, portsOf, userPortsOf } from './ports.ts'
import type { Common } from './shared-resources.ts'
import { openHasher, openHashPool } from './shared-resources.ts'
import { backendsOf, providersOf, reportProvider } from './sign-in.ts'
import { type FailingStore, openStores } from './stores.ts'

interface Needs extends Common {
  readonly id: string
  readonly settings: Settings
  /** Its events are for others to deliver: there is nobody here to tell. What has expired is swept all the same. */
  readonly leavesEvents?: boolean
  /** A store that came up late turned out to be unsuitable: this tenant has to end. */
  readonly failed: (fault: unknown) => void
}

/** A tenant whose use cases can be called: its stores, its keys. */
export interface OpenTenant {
  readonly id: string
  readonly settings: Settings
  /** Its lines name the tenant, where there are several. */
  readonly log: Logger
  readonly ports: Ports
  readonly useCases: UseCases
  readonly backends: readonly HttpBackend[]
  /** Built when they are first asked for: who only delivers needs none. */
  readonly providers: ReadonlyMap<string, OAuthProvider>
  /** Resolves when the first attempt at every store has ended, either way; rejects when one must not be used. */
  prepare(): Promise<void>
  failing(): Promise<readonly FailingStore[]>
  /** From now on events are delivered, unless they are left to others, and what has expired is swept. */
  startDeliveries(): void
  /** Begins to deliver what is due and what has been asked for. */
  startDue(): Promise<void>
  /** Takes on no more deliveries; what is being delivered has `graceSeconds` to end. */
  stopDeliveries(graceSeconds: number): Promise<void>
  /** Resolves once everything that waited has been begun, and what has expired is swept: enough when nobody else comes. */
  oneRound(): Promise<void>
  /** When the next event falls due; `null` when none waits. */
  nextDue(): Promise<Date | null>
  close(): Promise<void>
}

const pollSeconds = 1
/** Requests for tokens are looked at on a beat of their own, so that no answer's time depends on what they lead to. */
const tokenBeat = { pollSeconds: 0.25, jitter: 0.5 }
const hourMilliseconds = 3_600_000
const firstChoresMilliseconds = 200

/** What is wrong with a secret that is not its store's. */
function otherSecret({ origin, path }: Pick<MasterSecret, 'origin' | 'path'>): Fault {
  const where = { given: 'is', read: `in ${path} is`, generated: `is missing: one made anew for ${path} is` }[origin]
  return { path: 'secret', message: `${where} not the one this user store was started with`, source: 'default' }
}

/** Throws `SettingsFault` or `Unsuitable` for what no repetition mends. */
export async function openTenant(needs: Needs): Promise<OpenTenant> {
  const { id, settings, clock, shares, write, hashPool, outbound, isOneOfMany, leavesEvents = false, failed } = needs
  const keyOwner = id === defaultTenant ? null : id
  const log = keyOwner === null ? needs.log : needs.log.child({ tenant: id })

  const master = await resolveSecret(settings, { generate: true })
  const { secret, origin, path, isOfAnEarlierStart, warnings } = master
  for (const warning of warnings) log.warn(warning)

  const hasher = openHasher(settings, hashPool)
  const handlers = await handlersOf(needs, { log, write, shares, tenant: keyOwner })
  const stores = await openStores({
    settings,
    clock,
    log,
    shares,
    isOneOfMany,
    failed,
    async whenUsersAreThere(users) {
      const mark = await users.checkSecret(secretMark(secret, keyOwner))
      if (mark === 'other') {
        await discardGenerated(master)
        throw new SettingsFault([otherSecret(master)])
      }
      if (origin === 'generated') log.info({ path }, 'generated a secret: keep this file with the data')
      if (mark === 'first' && isOfAnEarlierStart && settings.stores.users.kind !== 'memory') {
        log.warn({ path }, 'the user store is new, and its secret is not')
      }
      await hasher.prepare(await users.users.passwordSchemes())
    },
  }).catch(async (thrown: unknown) => {
    await handlers.close()
    throw thrown
  })

  const keyRing = derivedKeys(secret, keyOwner)
  const { users, sessions, tokens, oauthStates } = stores
  let events: DeliveryLoop | null = null
  let requests: DeliveryLoop | null = null
  const ports = portsOf(settings, {
    tenant: id,
    users,
    sessions,
    tokens,
    oauthStates,
    keyRing,
    hasher,
    eventHandlers: handlers.eventHandlers,
    clock,
    report: (problem) => log.warn(problem, 'delivery failed'),
    reportProvider: (name, failure) => reportProvider(log, name, failure),
    wake: () => events?.wake(),
  })
  const { expiringIds } = users
  const useCases = useCasesOf(ports)
  const backends = backendsOf(settings.backends, { sessions, expiringIds, keyRing, tenant: id, clock, newId })
  let providers: ReadonlyMap<string, OAuthProvider> | null = null
  const timers: NodeJS.Timeout[] = []
  const logged = (work: () => Promise<unknown>): Promise<unknown> =>
    work().catch((err: unknown) => {
      if (!(err instanceof Unavailable)) log.warn({ err }, 'a chore failed') // of the other the store has a line
    })
  const sweep = (): Promise<unknown> => useCases.sweep.execute()
  const chore = (work: () => Promise<unknown>): void => {
    const done = (): unknown => logged(work)
    timers.push(setTimeout(done, firstChoresMilliseconds).unref(), setInterval(done, hourMilliseconds).unref())
  }

  return {
    id,
    settings,
    log,
    ports,
    useCases,
    backends,
    get providers() {
      providers ??= providersOf(settings.providers, { outbound, clock })
      return providers
    },
    failing: stores.failing,

    async prepare() {
      await stores.prepare()
      chore(async () => {
        isCommonPassword('') // reads the list, so that nobody's registration has to
        await hasher.prepare(await users.users.passwordSchemes())
      })
    },

    startDeliveries() {
      const lane = (of: 'events' | 'token requests') => ({
        clock,
        failed: (err: unknown) => log.error({ err, of }, 'deliveries are stuck'),
        recovered: () => log.info({ of }, 'deliveries go on'),
      })
      chore(sweep)
      if (leavesEvents) return
      events = deliveryLoop({ ...lane('events'), work: useCases.relayEvents, pollSeconds })
      requests = deliveryLoop({ ...lane('token requests'), work: useCases.deliverTokens, ...tokenBeat })
    },

    async startDue() {
      if (leavesEvents) return
      await Promise.all([useCases.relayEvents.startDue(), useCases.deliverTokens.startDue()])
    },

    async stopDeliveries(graceSeconds) {
      await Promise.all([events?.stop(graceSeconds), requests?.stop(graceSeconds)])
    },

    async oneRound() {
      await Promise.all([events?.firstLook, requests?.firstLook, logged(sweep)])
    },

    // Of events alone: nobody is told when the next request for a token is due.
    nextDue: async () => (leavesEvents ? null : users.outbox.nextDue()),

    async close() {
      for (const timer of timers) clearTimeout(timer)
      const closed = await Promise.allSettled([handlers.close(), stores.close()])
      for (const one of closed) if (one.status === 'rejected') throw one.reason
    },
  }
}

/** As `openTenant`, and prepared; nothing stays open when that fails. */
export async function openPreparedTenant(needs: Needs): Promise<OpenTenant> {
  const tenant = await openTenant(needs)
  try {
    await tenant.prepare()
    return tenant
  } catch (thrown) {
    await tenant.close()
    throw thrown
  }
}

async function handlersOf(
  { settings, eventHandlers }: Needs,
  needs: Parameters<typeof openHandlers>[1],
): Promise<OpenHandlers> {
  if (eventHandlers !== undefined) return { eventHandlers, close: async () => undefined }
  return openHandlers(settings.handlers, needs)
}

/** The users' store alone, beside a running service: for commands. */
export interface UserStoreSession {
  readonly createSuperuser: CreateSuperuser
  readonly promoteUser: PromoteUser
  readonly outbox: Outbox
  /** The file of the users, if it did not exist before. */
  readonly newFile: string | null
  close(): Promise<void>
}

/** Throws when the store does not answer. */
export async function openUserStore(settings: Settings, log: Logger): Promise<UserStoreSession> {
  if (settings.stores.users.kind === 'memory') {
    const message = 'is memory: such users live in the serving process alone, and no other can reach them'
    throw new SettingsFault([{ path: 'stores.users.kind', message, source: 'default' }])
  }
  const { users: role } = settings.stores
  const file = role.kind === 'sqlite' ? pathIn(settings.dataFolder) : null
  const newFile = file === null || existsSync(file) ? null : file
  const clock = (): Date => new Date()
  const stores = await openStores({
    settings: { ...settings, stores: { users: role, sessions: role, tokens: role } },
    clock,
    log,
    whenUsersAreThere: async () => undefined,
    failed: () => undefined,
  })
  try {
    await stores.prepareOnce()
  } catch (thrown) {
    await stores.close()
    throw thrown
  }
  const { users, outbox } = stores.users
  const hasher = openHasher(settings, openHashPool(settings.passwords))
  const ports = userPortsOf(settings, { users, hasher, clock })
  return {
    createSuperuser: new CreateSuperuser(ports),
    promoteUser: new PromoteUser({ ...ports, changeUser: new ChangeUser({ users }) }),
    outbox,
    newFile,
    close: () => stores.close(),
  }
}
