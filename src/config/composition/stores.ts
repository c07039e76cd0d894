import type { Logger } from '../../adapters/logging/log.ts'
import {
  type Shares,
  type StoreHandle,
  type StoreRole,
  Unsuitable,
  type UsersRole,
} from '../../adapters/stores/store-backend.ts'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { stores } from '../plugins/stores.ts'
import type { Fault, Source } from '../settings/schema/fault.ts'
import type { Settings, StoreSettings } from '../settings/schema/schema.ts'

/** A store that does not answer, by its technology and by what it is used for. */
export interface FailingStore {
  readonly store: string
  readonly roles: readonly StoreRole[]
}

export interface OpenStores {
  readonly users: UsersRole
  readonly sessions: SessionStore
  readonly tokens: TokenStore
  readonly oauthStates: OAuthStateStore
  /** Resolves when the first attempt at every store has ended, either way; rejects with `Unsuitable`. */
  prepare(): Promise<void>
  /** One attempt at every store; rejects when one of them does not answer. */
  prepareOnce(): Promise<void>
  failing(): Promise<readonly FailingStore[]>
  /** Whether `whenUsersAreThere` has succeeded. */
  isReady(): boolean
  close(): Promise<void>
}

interface Needs {
  readonly settings: Settings
  readonly clock: () => Date
  readonly log: Logger
  readonly shares?: Shares
  /** Many such are open in this process: each is to be small. */
  readonly isOneOfMany?: boolean
  /** Called once the users' store is there for the first time, before anybody uses it; may be later than `prepare`. */
  readonly whenUsersAreThere: (users: UsersRole) => Promise<void>
  /** A store that came up late turned out to be unsuitable. */
  readonly failed: (fault: unknown) => void
}

interface Opened {
  readonly kind: string
  readonly handle: StoreHandle
  readonly roles: StoreRole[]
  isReady: boolean
  /** It was ready once, and did not answer the last time it was asked. */
  isLost: boolean
}

const retrySeconds = 1
const pingMemorySeconds = 1

/** Opens what the settings name; roles with the same kind and address share one handle. */
export async function openStores(needs: Needs): Promise<OpenStores> {
  const { settings, clock, log, shares, isOneOfMany = false, whenUsersAreThere, failed } = needs
  const opened = new Map<string, Opened>()
  try {
    for (const role of ['users', 'sessions', 'tokens'] as const) {
      const store = settings.stores[role]
      const key = JSON.stringify([store.kind, store.url, store.prefix])
      const known = opened.get(key)
      if (known !== undefined) known.roles.push(role)
      else
        opened.set(key, {
          kind: store.kind,
          handle: await namingRoles([role], () => open(store)),
          roles: [role],
          isReady: false,
          isLost: false,
        })
    }
  } catch (thrown) {
    await Promise.allSettled([...opened.values()].map(({ handle }) => handle.close()))
    throw thrown
  }
  const all = [...opened.values()]
  const retries = new Set<NodeJS.Timeout>()
  let isClosed = false
  let lastPing: { at: number; failing: Promise<readonly FailingStore[]> } | null = null

  function open({ kind, url, prefix }: StoreSettings): Promise<StoreHandle> {
    const backend = stores.find((one) => one.kind === kind)
    if (backend === undefined) throw new Error(`no store of kind ${kind}`)
    const warn = (message: string): void => log.warn({ store: kind }, message)
    const { dataFolder } = settings
    return backend.open({
      url: url ?? null,
      prefix: prefix ?? null,
      dataFolder,
      clock,
      warn,
      isOneOfMany,
      ...(shares && { shares }),
    })
  }

  async function prepareOne(store: Opened): Promise<void> {
    await namingRoles(store.roles, () => store.handle.prepare())
    if (store.roles.includes('users') && store.handle.users) await whenUsersAreThere(store.handle.users)
    store.isReady = true
  }

  async function firstAttempt(store: Opened): Promise<void> {
    try {
      await prepareOne(store)
    } catch (err) {
      if (!(err instanceof Unavailable)) throw err
      log.error({ err, store: store.kind, roles: store.roles }, 'a store is down; trying again each second')
      retry(store)
    }
  }

  function retry(store: Opened): void {
    const timer = setTimeout(async () => {
      retries.delete(timer)
      try {
        await prepareOne(store)
        log.info({ store: store.kind, roles: store.roles }, 'the store is there')
      } catch (err) {
        if (isClosed) return
        if (err instanceof Unavailable) retry(store)
        else failed(err)
      }
    }, retrySeconds * 1000)
    retries.add(timer)
  }

  /** The first failure of a row is told, and the end of the row; each request that fails has a line of its own. */
  function lost(store: Opened, err: unknown): void {
    if (isClosed || !store.isReady || store.isLost || !(err instanceof Unavailable)) return
    store.isLost = true
    log.error({ err, store: store.kind, roles: store.roles }, 'a store does not answer')
    askAgain(store)
  }

  function askAgain(store: Opened): void {
    const timer = setTimeout(async () => {
      retries.delete(timer)
      try {
        await store.handle.ping()
        store.isLost = false
        log.info({ store: store.kind, roles: store.roles }, 'the store answers again')
      } catch {
        if (!isClosed) askAgain(store)
      }
    }, retrySeconds * 1000).unref()
    retries.add(timer)
  }

  async function ping(): Promise<readonly FailingStore[]> {
    const answers = await Promise.allSettled(
      all.map((store) => (store.isReady ? store.handle.ping() : Promise.reject(new Unavailable(store.kind)))),
    )
    return all.flatMap((store, at) => {
      const answer = answers[at]
      if (answer?.status !== 'rejected') return []
      lost(store, answer.reason)
      return [{ store: store.kind, roles: store.roles }]
    })
  }

  return {
    users: gated(...found('users', (handle) => handle.users)),
    sessions: offered('sessions', (handle) => handle.sessions),
    tokens: offered('tokens', (handle) => handle.tokens),
    oauthStates: offered('tokens', (handle) => handle.oauthStates),
    async prepare() {
      const attempts = await Promise.allSettled(all.map(firstAttempt))
      for (const attempt of attempts) if (attempt.status === 'rejected') throw attempt.reason
    },
    async prepareOnce() {
      await Promise.all(all.map(prepareOne))
    },
    failing() {
      const now = performance.now() // no clock that can be set back
      if (lastPing === null || now - lastPing.at > pingMemorySeconds * 1000) lastPing = { at: now, failing: ping() }
      return lastPing.failing
    },
    isReady: () => !isClosed && all.some(({ roles, isReady }) => isReady && roles.includes('users')),
    async close() {
      isClosed = true
      for (const timer of retries) clearTimeout(timer)
      await Promise.allSettled(all.map(({ handle }) => handle.close()))
    },
  }

  /** Nobody else uses the users before `whenUsersAreThere` is done: the secret may be another's. */
  function gated(store: Opened, role: UsersRole): UsersRole {
    const { users, outbox, tokenRequests, expiringIds, checkSecret } = role
    const gate = <T extends object>(port: T): T =>
      watched(
        port,
        (err) => lost(store, err),
        () => store.isReady && !isClosed,
      )
    return {
      users: gate(users),
      outbox: gate(outbox),
      tokenRequests: gate(tokenRequests),
      expiringIds: gate(expiringIds),
      checkSecret,
    }
  }

  function offered<T extends object>(role: StoreRole, pick: (handle: StoreHandle) => T | undefined): T {
    const [store, port] = found(role, pick)
    return watched(
      port,
      (err) => lost(store, err),
      () => !isClosed,
    )
  }

  function found<T>(role: StoreRole, pick: (handle: StoreHandle) => T | undefined): [Opened, T] {
    const store = all.find(({ roles }) => roles.includes(role))
    const port = store && pick(store.handle)
    if (store === undefined || port === undefined) {
      throw new Unsuitable(`${settings.stores[role].kind} cannot store ${role}`)
    }
    return [store, port]
  }
}

/** A store knows what it is, and not what for. */
async function namingRoles<T>(roles: readonly StoreRole[], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof Unsuitable)) throw thrown
    const settings = roles.map((role) => `stores.${role}`).join(', ')
    throw new Unsuitable(`${settings}: ${thrown.message}`, { cause: thrown.cause })
  }
}

type Method = (...args: unknown[]) => unknown

/** `port`, whose failures are told, and every method of which answers `Unavailable` until `isOpen`. */
function watched<T extends object>(port: T, failed: (err: unknown) => void, isOpen: () => boolean): T {
  const methods = new Map<string | symbol, unknown>()
  const methodOf = (method: Method) => {
    return (...args: unknown[]): unknown => {
      if (!isOpen()) return Promise.reject(new Unavailable('a store that is not there yet, or not any more'))
      const outcome = method.apply(port, args)
      if (outcome instanceof Promise) outcome.catch(failed)
      return outcome
    }
  }
  return new Proxy(port, {
    get(target, name) {
      const known = methods.get(name)
      if (known !== undefined) return known
      const member: unknown = Reflect.get(target, name)
      const wrapped = typeof member === 'function' ? methodOf(member as Method) : member
      methods.set(name, wrapped)
      return wrapped
    },
  })
}

interface From {
  readonly settings: Settings
  readonly sources: ReadonlyMap<string, Source>
}

/** What the drivers object to in the addresses of stores, as a start would find out. Nothing is asked of the network. */
export async function addressFaults({ settings, sources }: From): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const role of ['users', 'sessions', 'tokens'] as const) {
    const { kind, url, prefix = null } = settings.stores[role]
    const source = sources.get(`stores.${role}.url`)
    if (source === undefined) continue // it is that of the users, which is told of once
    const backend = stores.find((one) => one.kind === kind)
    if (backend === undefined || url === undefined) continue
    const { dataFolder } = settings
    try {
      const handle = await backend.open({ url, prefix, dataFolder, clock: () => new Date(), warn: () => undefined })
      await handle.close()
    } catch (thrown) {
      if (!(thrown instanceof Unsuitable)) throw thrown
      faults.push({ path: `stores.${role}.url`, message: thrown.message, source })
    }
  }
  return faults
}
