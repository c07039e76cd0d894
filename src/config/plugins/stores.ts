import { memoryBackend } from '../../adapters/stores/memory/memory.ts'
import { mongoBackend } from '../../adapters/stores/mongo/mongo.ts'
import { redisBackend } from '../../adapters/stores/redis/redis.ts'
import { sqliteBackend } from '../../adapters/stores/sqlite/sqlite.ts'
import {
  type StoreAddress,
  type StoreBackend,
  type StoreHandle,
  type StoreRole,
  storeRoles,
  Unsuitable,
  type UsersRole,
} from '../../adapters/stores/store-backend.ts'
import type { Limiter } from '../../application/ports/stores/limiter.ts'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'

/** Every kind of store. A driver is loaded when a store of its kind is opened. */
export const stores: readonly StoreBackend[] = [memoryBackend, sqliteBackend, mongoBackend, redisBackend]

export function backendOf(kind: string): StoreBackend {
  const backend = stores.find((one) => one.kind === kind)
  if (backend === undefined) throw new Unsuitable(`there is no store of the kind ${kind}`)
  return backend
}

export interface StoreSettings {
  readonly kind: string
  /** Absent for a store in the process or in the data folder. */
  readonly url?: string
  /** The prefix of every key, for stores that have one. */
  readonly prefix?: string
  /** The cache of SQLite, for the users. */
  readonly cacheMegabytes?: number
}

/** The address of a store by its settings. */
export function addressOf({ url, prefix }: StoreSettings, dataFolder: string): StoreAddress {
  return { url: url ?? null, prefix: prefix ?? null, dataFolder }
}

/** Roles with the same kind and address share one store. */
export function distinctStores(byRole: Readonly<Record<StoreRole, StoreSettings>>) {
  const found = new Map<string, { readonly store: StoreSettings; readonly roles: StoreRole[] }>()
  for (const role of storeRoles) {
    const { kind, url, prefix } = byRole[role]
    const key = JSON.stringify([kind, url, prefix])
    const known = found.get(key)
    if (known === undefined) found.set(key, { store: byRole[role], roles: [role] })
    else known.roles.push(role)
  }
  return [...found.values()]
}

/** Adds the settings of the roles to the message of `Unsuitable`, because a store does not know its roles. */
export async function namingRoles<T>(roles: readonly StoreRole[], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof Unsuitable)) throw thrown
    const settings = roles.map((role) => `stores.${role}`).join(', ')
    throw new Unsuitable(`${settings}: ${thrown.message}`, { cause: thrown.cause })
  }
}

/** Sessions, one-time tokens, OAuth states and the counters of limits of one opened store. */
export interface OpenSessions {
  readonly sessions: SessionStore
  readonly tokens: TokenStore
  readonly oauthStates: OAuthStateStore
  readonly limiter: Limiter
  /** Resolves when the store answers; throws `Unavailable` within 2 s when it does not. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** An opened store that also keeps users: everything that the use cases need from a store. */
export interface OpenStore extends OpenSessions, UsersRole {}

/** A store for everything. `dataFolder` holds `portcullis.sqlite`; `url` names a database: `mongodb://host/name`. */
export type UserStoreAddress =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly dataFolder: string }
  | { readonly kind: 'mongo'; readonly url: string }

/** A store for sessions and tokens only. Every key begins with `prefix`. */
export interface SessionStoreAddress {
  readonly kind: 'redis'
  readonly url: string
  readonly prefix?: string
}

export interface OpenStoreOptions {
  readonly clock?: () => Date
  /** Receives warnings for the operator; by default `process.emitWarning`. */
  readonly warn?: (message: string) => void
}

/**
 * Loads the driver, opens the store and resolves when the store is ready for use. Throws `Unavailable` when the store
 * does not answer, so the caller may retry, and `Unsuitable` when its setup is wrong.
 */
export function openStore(address: UserStoreAddress, options?: OpenStoreOptions): Promise<OpenStore>
export function openStore(address: SessionStoreAddress, options?: OpenStoreOptions): Promise<OpenSessions>
export async function openStore(
  address: UserStoreAddress | SessionStoreAddress,
  { clock = () => new Date(), warn = (message) => process.emitWarning(message) }: OpenStoreOptions = {},
): Promise<OpenSessions> {
  const dataFolder = 'dataFolder' in address ? address.dataFolder : ''
  const handle = await backendOf(address.kind).open({
    ...addressOf(address, dataFolder),
    clock,
    warn,
  })
  try {
    await handle.prepare()
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
  return portsOf(handle)
}

function portsOf(handle: StoreHandle): OpenSessions {
  const { users, sessions, tokens, oauthStates, limiter } = handle
  if (!sessions || !tokens || !oauthStates || !limiter)
    throw new Error('a built-in store lacks sessions, tokens, OAuth states or counters')
  const role = users && {
    users: users.users,
    outbox: users.outbox,
    tokenRequests: users.tokenRequests,
    expiringIds: users.expiringIds,
    checkSecret: (mark: string) => users.checkSecret(mark),
  }
  return { ...role, sessions, tokens, oauthStates, limiter, ping: () => handle.ping(), close: () => handle.close() }
}
