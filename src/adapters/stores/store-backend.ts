import type { UserIds } from '../../application/ports/stores/user-ids.ts'
import type { IdKind } from '../../domain/ids.ts'
import type { PortName, StorePorts } from './store-ports.ts'

/** The roles of stores, and the ports that each role needs. The counters of limits and the refused logins are in the store of the sessions, if it has any. */
export const neededPorts = {
  users: ['users', 'outbox', 'tokenRequests', 'expiringMarks', 'tenantTexts', 'loginTimes'],
  sessions: ['sessions'],
  tokens: ['tokens', 'singleUseRecords'],
} as const satisfies Readonly<Record<string, readonly PortName[]>>

export type StoreRole = keyof typeof neededPorts
export const storeRoles = ['users', 'sessions', 'tokens'] as const satisfies readonly StoreRole[]

/** The ports of a role: those that it needs, and for users perhaps `userIds`. */
export type RolePorts<Role extends StoreRole> = Required<Pick<StorePorts, (typeof neededPorts)[Role][number]>> &
  (Role extends 'users' ? Pick<StorePorts, 'userIds'> : unknown)
/** The ports of a store of users. Without `userIds`, the users have UUIDs. */
export type UsersRole = RolePorts<'users'>

/** The ports of a role, and for users always `userIds`. */
export type FoundPorts<Role extends StoreRole> = RolePorts<Role> &
  (Role extends 'users' ? { readonly userIds: UserIds } : unknown)

/** The ports of a store for a role. Throws `Unsuitable` if one is missing. `name` is the store in the message. */
export function portsFor<Role extends StoreRole>(role: Role, name: string, store: StorePorts): FoundPorts<Role> {
  const missing = neededPorts[role].filter((port) => store[port] === undefined)
  if (missing.length > 0) {
    const other = role === 'users' ? '' : `; choose another store with stores.${role}.kind`
    throw new Unsuitable(`${name} cannot store ${role}: it has no ${missing.join(', no ')}${other}`)
  }
  const found = neededPorts[role].map((port) => [port, store[port]])
  const ids = role === 'users' ? { userIds: store.userIds ?? uuidsAlone } : {}
  return { ...Object.fromEntries(found), ...ids } // safe: every port of the role under its name
}

/** A store that lacks the port: older modules do. */
const uuidsAlone: UserIds = {
  keep: async () => 'uuid',
  kept: async () => 'uuid',
  next: () => Promise.reject(new TypeError('this store counts no ids')),
  skip: async () => undefined,
}

/** Fixes the kind of the ids at the first start. Throws `Unsuitable` if the users have another kind. */
export async function keepIds({ userIds }: { readonly userIds: UserIds }, ids: IdKind): Promise<void> {
  const kept = await userIds.keep(ids)
  if (kept !== ids) throw new Unsuitable(`ids: ${otherIds(kept)}`)
}

export const otherIds = (kept: IdKind): string => `must be ${kept}, as at the first start of this user store`

export interface StoreLifecycle {
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

/** Shortens the wait of a process that delivers events for those that another process has written. Polling finds them, too. */
export interface EventAnnouncements {
  /** Tells the other processes that this one has written events. Never throws. */
  announce(): void
  /** Calls `wake` when another process announces events, until the store is closed. */
  listen(wake: () => void): void
}

/** An opened store: the ports that it offers. */
export interface StoreHandle extends StorePorts, StoreLifecycle {
  /** Absent if processes only poll. */
  readonly announcements?: EventAnnouncements
  /** Ways by which others reach the data beside the service. Absent where the server has no users of its own to ask about. */
  foreignAccess?(): Promise<readonly ForeignAccess[]>
}

/** A way by which another user of the database server reaches the data. */
export interface ForeignAccess {
  /** Names the other user, the way and the command that ends it. */
  readonly text: string
  /** It gives the rights of the service, so the service does not start. Otherwise it only gives data to read, or more of `users`. */
  readonly isControl: boolean
}

/** The setup of the store is wrong, so the process does not start. The message says what to change. */
export class Unsuitable extends Error {
  override readonly name = 'Unsuitable'
}

/** Resources that the openings of one process share: a pool of connections to a server, a writer thread. */
export interface Shares {
  /** The number of processes that serve together. Each one takes its part of a bound that a server or the machine has. */
  readonly processes: number
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
export function openShares(processes = 1): Shares {
  const held = new Map<string, Held>()

  return {
    processes,
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

export interface OpenOptions {
  /** The name of the tenant, whose openings may share records in the process. */
  readonly tenant?: string
  /** Without it, this opening shares nothing. */
  readonly shares?: Shares
  /** The process opens many of these, so each should be small. */
  readonly isOneOfMany?: boolean
  /** `prepare` throws `Unsuitable` for data that lack migrations, and `portcullis storage migrate` runs them. */
  readonly leavesMigrations?: boolean
  /** The kind of ids for a new store, if its tables depend on it. Default: `uuid`. */
  readonly ids?: IdKind | undefined
  readonly clock: () => Date
  /** Tells the operator something in one line, without secrets. */
  readonly warn: (message: string) => void
}

export interface AdoptionOptions {
  /** The table of the former users: `user`, or `schema.user`. */
  readonly usersTable: string
  /** From our users to the table, instead of from the table to our users. */
  readonly isBack: boolean
  /** The tables whose foreign keys are not turned. */
  readonly staying: readonly string[]
}

export interface Adoption {
  /** For the owner of the app's tables; `null` if there is nothing to turn. */
  readonly sql: string | null
  /** The keys that the SQL turns. */
  readonly turned: readonly string[]
  /** The keys that cannot be turned, with the reasons. */
  readonly problems: readonly string[]
}

/**
 * A storage technology. A new one is a folder here and an entry in `config/plugins/stores.ts`, which declares its settings.
 *
 * `Own` are its own options: `{ url: string }`, and the `dataFolder` if it lives there. `Offered` are the ports that it opens.
 */
export interface StoreBackend<Own extends object = object, Offered extends StorePorts = StorePorts> {
  readonly kind: string
  readonly roles: readonly StoreRole[]
  /** The protocols of its option `url`, e.g. `['redis:', 'rediss:']`; empty if it needs no address. */
  readonly protocols: readonly string[]
  /** Whether the address must name a database: `mongodb://host/name`. */
  readonly needsDatabase?: boolean
  /** The reason why a well-formed `url` can never be used, worded to follow the name of the setting; `null` if it can be used. */
  objection?(url: string): string | null
  /** The hosts, without ports, that `url` connects to without TLS. */
  hostsInClear?(url: string): readonly string[]
  /** The options of a tenant that inherits these: its own place on the same server. Absent if `dataFolder` is its place. */
  inherited?(own: Own, tenant: string): Own
  /**
   * Equal for two places of the same records, without user or password; `null` for an address that `open` refuses.
   * Absent when openings never share records.
   */
  placeOf?(own: Own): string | null
  /** Loads the driver and creates the handle, without any request to network or disk. */
  open(options: OpenOptions & Own): Promise<StoreLifecycle & Offered>
  /**
   * Returns the faults of the stored data, without changing them. Rejects like `prepare` of a handle. If there are none, or
   * a store has no such method, `portcullis storage check` opens a handle and calls `prepare` and `ping`.
   */
  check?(options: OpenOptions & Own): Promise<readonly string[]>
  /**
   * The versions of the stored data, `null` for a new store, and of this release. Absent where nothing is stored. Throws
   * `Unsuitable` for a store whose file is missing.
   */
  schemas?(options: OpenOptions & Own): Promise<{ readonly found: number | null; readonly known: number }>
  /** Writes a copy of the data to the new file `to`, while other processes change them. */
  backUp?(own: Own, to: string): Promise<void>
  /**
   * SQL that lets the role `app` read and reference the users, and perhaps ends its waits and open transactions. Throws `Unsuitable`
   * if the options name too little for it.
   */
  rolesOf?(own: Own, app: string, hasTimeOuts: boolean): string
  /** Reads which foreign keys of an app in the same database refer to its former users. Throws `Unsuitable` without their table. */
  adoption?(options: OpenOptions & Own, of: AdoptionOptions): Promise<Adoption>
  /** The program that makes backups, for a store without `backUp`. */
  readonly backupProgram?: string
}
