import type { ExpiringIds } from '../../application/ports/stores/expiring-ids.ts'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { Outbox } from '../../application/ports/stores/outbox.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { TokenRequests } from '../../application/ports/stores/token-requests.ts'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import type { UserStore } from '../../application/ports/stores/user-store.ts'

/** What a store may be used for. */
export type StoreRole = 'users' | 'sessions' | 'tokens'

/** The role `users`: users, their events, requests for tokens, ids that expire, and the mark of the secret. */
export interface UsersRole {
  readonly users: UserStore
  readonly outbox: Outbox
  readonly tokenRequests: TokenRequests
  readonly expiringIds: ExpiringIds
  /**
   * Keeps `mark` at the first start and compares it at every later one: `'other'` when this user store was
   * started with another secret. Of two first starts at once one is first.
   */
  checkSecret(mark: string): Promise<'first' | 'same' | 'other'>
}

/** One opened address of one technology. It serves one or more roles. */
export interface StoreHandle {
  readonly users?: UsersRole
  readonly sessions?: SessionStore
  readonly tokens?: TokenStore
  /** Offered wherever tokens are. */
  readonly oauthStates?: OAuthStateStore

  /**
   * Connects, creates tables or indexes, judges the server's settings. May be repeated after `Unavailable`.
   * Until it has succeeded once, every operation of every role throws `Unavailable`; afterwards the handle
   * reconnects by itself, and an operation that finds the store down throws `Unavailable` within 2 s.
   * Throws `Unsuitable` for what no repetition mends.
   */
  prepare(): Promise<void>

  /** Resolves when the store answers and takes what is written; throws `Unavailable` within 2 s when it does not. */
  ping(): Promise<void>

  close(): Promise<void>
}

/** This store must not be used as it is set up; says what to change. Stops the start. */
export class Unsuitable extends Error {
  override readonly name = 'Unsuitable'
}

/** Where a tenant's records lie. */
export interface StoreAddress {
  /** `mongodb://…/name`, `redis://…`; `null` for a store that lives in the process or in the data folder. */
  readonly url: string | null
  /** What every key begins with, in a store that has such; `null` for the usual one. */
  readonly prefix?: string | null
  readonly dataFolder: string
}

/** What the openings of one process share: a pool of connections to a server, a thread that writes. */
export interface Shares {
  /**
   * The one that goes by `key`, which `open` makes where there is none; `close` ends it once its last holder let go.
   * A key begins with the kind of store: whoever asks for the same one must expect the same type.
   */
  lease<T>(key: string, open: () => T, close: (shared: T) => Promise<void>): Lease<T>
}

export interface Lease<T> {
  readonly value: T
  /** Resolves when what was leased has been let go, and been closed if nobody else holds it. Twice is once. */
  release(): Promise<void>
}

/** For an opening that shares with no other: each lease is of something new. */
export const unshared: Shares = {
  lease(_key, open, close) {
    const value = open()
    let closing: Promise<void> | undefined
    return {
      value,
      release() {
        closing ??= close(value)
        return closing
      },
    }
  },
}

export interface OpenOptions extends StoreAddress {
  /** Absent: this opening shares nothing with any other. */
  readonly shares?: Shares
  /** Many such are open in this process: each is to be small. */
  readonly isOneOfMany?: boolean
  readonly clock: () => Date
  /** Says what an operator should know and no caller: one line, no secrets. */
  readonly warn: (message: string) => void
}

/** A technology that can store something. Adding one is a file here and a line in `config/plugins/stores.ts`. */
export interface StoreBackend {
  readonly kind: string
  readonly roles: readonly StoreRole[]
  /** Protocols of the address it needs, e.g. `['redis:', 'rediss:']`; empty when it needs none. */
  readonly protocols: readonly string[]
  /** Whether the address must name a database: `mongodb://host/name`. */
  readonly needsDatabase?: boolean
  /** Why `url`, whose form is right, can never be used; `null` when it may. The words follow the name of the setting. */
  objection?(url: string): string | null
  /** Hosts, without ports, that `url` leads to without TLS. */
  hostsInClear?(url: string): readonly string[]
  /** Whether an address may come with a prefix, so that several tenants share a server. */
  readonly takesPrefix?: boolean
  /**
   * The address that `tenant` uses when it inherits one: a place of its own on the same server or disk.
   * `address.dataFolder` is the tenant's own already.
   */
  inherited?(address: StoreAddress, tenant: string): StoreAddress
  /**
   * The same text for two addresses of the same records, without user or password; `null` for an address that `open`
   * refuses. Absent when no two openings ever share records.
   */
  placeOf?(address: StoreAddress): string | null
  /** Loads the driver and builds the handle; asks nothing of the network or the disk yet. */
  open(options: OpenOptions): Promise<StoreHandle>
}
