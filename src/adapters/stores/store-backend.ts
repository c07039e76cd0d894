import type { ExpiringIds } from '../../application/ports/stores/expiring-ids.ts'
import type { Limiter } from '../../application/ports/stores/limiter.ts'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { Outbox } from '../../application/ports/stores/outbox.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { TokenRequests } from '../../application/ports/stores/token-requests.ts'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import type { UserStore } from '../../application/ports/stores/user-store.ts'

export const storeRoles = ['users', 'sessions', 'tokens'] as const
export type StoreRole = (typeof storeRoles)[number]

/** The role `users`: users, their events, requests for tokens, ids that expire, and the mark of the secret. */
export interface UsersRole {
  readonly users: UserStore
  readonly outbox: Outbox
  readonly tokenRequests: TokenRequests
  readonly expiringIds: ExpiringIds
  /**
   * Stores `mark` at the first start and compares it at each later one: `'other'` when the store was first used with
   * another secret. Of two concurrent first starts, one is the first.
   */
  checkSecret(mark: string): Promise<'first' | 'same' | 'other'>
}

/** An opened address of one technology. It has one or more roles. */
export interface StoreHandle {
  readonly users?: UsersRole
  readonly sessions?: SessionStore
  readonly tokens?: TokenStore
  /** Present if and only if `tokens` is. */
  readonly oauthStates?: OAuthStateStore
  /** The counters of limits, in the store of the sessions. Without it, each process counts for itself. */
  readonly limiter?: Limiter

  /**
   * Connects, runs the missing migrations, creates indexes, and checks the server's settings. May be repeated after `Unavailable`. Before
   * the first success every operation throws `Unavailable`. Later the handle reconnects by itself, and an operation
   * throws `Unavailable` within 2 s while the store is down. Throws `Unsuitable` when no retry can help.
   */
  prepare(): Promise<void>

  /** Resolves when the store answers and accepts writes; otherwise throws `Unavailable` within 2 s. */
  ping(): Promise<void>

  close(): Promise<void>
}

/** The setup of the store is wrong, so the process does not start. The message says what to change. */
export class Unsuitable extends Error {
  override readonly name = 'Unsuitable'
}

export interface StoreAddress {
  /** `mongodb://…/name`, `redis://…`; `null` for a store that lives in the process or in the data folder. */
  readonly url: string | null
  /** The prefix of every key, in a store that has one; `null` for the default. */
  readonly prefix?: string | null
  readonly dataFolder: string
}

/** Resources that the openings of one process share: a pool of connections to a server, a writer thread. */
export interface Shares {
  /**
   * The resource named `key`. `open` creates it for the first holder, and `close` ends it after the last one. Keys
   * begin with the kind of store, so all holders of a key expect the same type.
   */
  lease<T>(key: string, open: () => T, close: (shared: T) => Promise<void>): Lease<T>
}

export interface Lease<T> {
  readonly value: T
  /** Releases the resource, and resolves once it is closed if there is no other holder. A second call does nothing. */
  release(): Promise<void>
}

interface Held {
  readonly value: unknown
  holders: number
}

/** Keeps each shared resource open as long as it has a holder. */
export function openShares(): Shares {
  const held = new Map<string, Held>()

  return {
    lease<T>(key: string, open: () => T, close: (shared: T) => Promise<void>) {
      const one = held.get(key) ?? { value: open(), holders: 0 }
      held.set(key, one)
      one.holders++
      // Safe: all holders of a key expect the same type, as `Shares` demands.
      const value = one.value as T
      let releasing: Promise<void> | undefined

      async function letGo(): Promise<void> {
        one.holders--
        if (one.holders > 0) return
        held.delete(key) // before it closes, so that the next holder opens a new one
        await close(value)
      }

      return {
        value,
        release() {
          releasing ??= letGo()
          return releasing
        },
      }
    },
  }
}

export interface OpenOptions extends StoreAddress {
  /** The name of the tenant, whose openings may share records in the process. */
  readonly tenant?: string
  /** Without it, this opening shares nothing. */
  readonly shares?: Shares
  /** The process opens many of these, so each should be small. */
  readonly isOneOfMany?: boolean
  /** The size of the cache of a store that reads a file itself. */
  readonly cacheMegabytes?: number
  /** `prepare` throws `Unsuitable` for data that lack migrations, and `portcullis storage migrate` runs them. */
  readonly leavesMigrations?: boolean
  readonly clock: () => Date
  /** Tells the operator something in one line, without secrets. */
  readonly warn: (message: string) => void
}

/** A storage technology. A new one is a folder here and a line in `config/plugins/stores.ts`. */
export interface StoreBackend {
  readonly kind: string
  readonly roles: readonly StoreRole[]
  /** The protocols of its address, e.g. `['redis:', 'rediss:']`; empty if it needs no address. */
  readonly protocols: readonly string[]
  /** Whether the address must name a database: `mongodb://host/name`. */
  readonly needsDatabase?: boolean
  /** The reason why a well-formed `url` can never be used, worded to follow the name of the setting; `null` if it can be used. */
  objection?(url: string): string | null
  /** The hosts, without ports, that `url` connects to without TLS. */
  hostsInClear?(url: string): readonly string[]
  /** Whether an address may have a prefix, so that several tenants share a server. */
  readonly takesPrefix?: boolean
  /**
   * The address of a tenant that inherits one: its own place on the same server or disk. `address.dataFolder` is
   * already that of the tenant.
   */
  inherited?(address: StoreAddress, tenant: string): StoreAddress
  /**
   * Equal for two addresses of the same records, without user or password; `null` for an address that `open` refuses.
   * Absent when openings never share records.
   */
  placeOf?(address: StoreAddress): string | null
  /** Loads the driver and creates the handle, without any request to network or disk. */
  open(options: OpenOptions): Promise<StoreHandle>
  /**
   * Returns the faults of the stored data, without changing them. Rejects like `prepare` of a handle. If there are none, or
   * a store has no such method, `portcullis storage check` opens a handle and calls `prepare` and `ping`.
   */
  check?(options: OpenOptions): Promise<readonly string[]>
  /**
   * The versions of the stored data, `null` for a new store, and of this release. Absent where nothing is stored. Throws
   * `Unsuitable` for a store whose file is missing.
   */
  schemas?(options: OpenOptions): Promise<{ readonly found: number | null; readonly known: number }>
  /** Writes a copy of the data to the new file `to`, while other processes change them. */
  backUp?(address: StoreAddress, to: string): Promise<void>
  /** The program that makes backups, for a store without `backUp`. */
  readonly backupProgram?: string
}
