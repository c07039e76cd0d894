import type { StoreBackend, StoreHandle, UsersRole } from '../adapters/stores/store-backend.ts'
import { Unsuitable } from '../adapters/stores/store-backend.ts'
import type { OAuthStateStore } from '../application/ports/stores/oauth-state-store.ts'
import type { SessionStore } from '../application/ports/stores/session-store.ts'
import type { TokenStore } from '../application/ports/stores/token-store.ts'

/** Sessions, one-time tokens and OAuth states of one opened store. */
export interface OpenSessions {
  readonly sessions: SessionStore
  readonly tokens: TokenStore
  readonly oauthStates: OAuthStateStore
  /** Resolves when the store answers; throws `Unavailable` within 2 s when it does not. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** An opened store that keeps users, too: all that the use cases need of a store. */
export interface OpenStore extends OpenSessions, UsersRole {}

/** A store of everything. `dataFolder` is where `portcullis.sqlite` lies; `url` names a database, `mongodb://host/name`. */
export type UserStoreAddress =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly dataFolder: string }
  | { readonly kind: 'mongo'; readonly url: string }

/** A store of sessions and tokens, and of no users. Every key begins with `prefix`. */
export interface SessionStoreAddress {
  readonly kind: 'redis'
  readonly url: string
  readonly prefix?: string
}

export interface OpenStoreOptions {
  readonly clock?: () => Date
  /** Says what an operator should know; by default a warning of the process. */
  readonly warn?: (message: string) => void
}

/**
 * Opens a store of this kind; its driver is loaded here and not before. Resolves when it is ready for use. Throws
 * `Unavailable` when it does not answer, which may be tried again, and `Unsuitable` when it must not be used so.
 */
export function openStore(address: UserStoreAddress, options?: OpenStoreOptions): Promise<OpenStore>
export function openStore(address: SessionStoreAddress, options?: OpenStoreOptions): Promise<OpenSessions>
export async function openStore(
  address: UserStoreAddress | SessionStoreAddress,
  { clock = () => new Date(), warn = (message) => process.emitWarning(message) }: OpenStoreOptions = {},
): Promise<OpenSessions> {
  const backend = await backendOf(address.kind)
  const handle = await backend.open({
    url: 'url' in address ? address.url : null,
    prefix: 'prefix' in address ? (address.prefix ?? null) : null,
    dataFolder: 'dataFolder' in address ? address.dataFolder : '',
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

async function backendOf(kind: (UserStoreAddress | SessionStoreAddress)['kind']): Promise<StoreBackend> {
  switch (kind) {
    case 'memory':
      return (await import('../adapters/stores/memory/memory.ts')).memoryBackend
    case 'sqlite':
      return (await import('../adapters/stores/sqlite/sqlite.ts')).sqliteBackend
    case 'mongo':
      return (await import('../adapters/stores/mongo/mongo.ts')).mongoBackend
    case 'redis':
      return (await import('../adapters/stores/redis/redis.ts')).redisBackend
    default:
      throw new Unsuitable(`there is no store of the kind ${String(kind)}`)
  }
}

function portsOf(handle: StoreHandle): OpenSessions {
  const { users, sessions, tokens, oauthStates } = handle
  if (!sessions || !tokens || !oauthStates) throw new Error('every store that is built in keeps these')
  return { ...users, sessions, tokens, oauthStates, ping: () => handle.ping(), close: () => handle.close() }
}
