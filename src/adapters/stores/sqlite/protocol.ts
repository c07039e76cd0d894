import type { ExpiringMarks } from '../../../application/ports/stores/expiring-marks.ts'
import type { LoginTimes } from '../../../application/ports/stores/login-times.ts'
import type { Outbox } from '../../../application/ports/stores/outbox.ts'
import type { SessionStore } from '../../../application/ports/stores/session-store.ts'
import type { SingleUseRecords } from '../../../application/ports/stores/single-use-records.ts'
import type { TenantTexts } from '../../../application/ports/stores/tenant-texts.ts'
import type { TokenRequests } from '../../../application/ports/stores/token-requests.ts'
import type { TokenStore } from '../../../application/ports/stores/token-store.ts'
import type { UserIds } from '../../../application/ports/stores/user-ids.ts'
import type { UserStore } from '../../../application/ports/stores/user-store.ts'

/** Every method that writes. The event loop sends its name and arguments to the writer's thread, which runs it. */
export interface Writes {
  readonly users: Required<Pick<UserStore, 'insert' | 'insertAll' | 'replace' | 'remove'>>
  readonly outbox: Omit<Outbox, 'nextDue' | 'list' | 'count' | 'countBySink'>
  readonly tokenRequests: Omit<TokenRequests, 'list' | 'count'>
  readonly expiringMarks: Required<Pick<ExpiringMarks, 'add' | 'addAll' | 'claim' | 'sweep'>>
  readonly tokens: Pick<TokenStore, 'put' | 'remove' | 'removeAllOf' | 'sweep'>
  readonly singleUseRecords: SingleUseRecords
  readonly sessions: Required<Pick<SessionStore, 'put' | 'putAll' | 'recordUse' | 'remove' | 'removeAllOf' | 'sweep'>>
  readonly tenantTexts: Omit<TenantTexts, 'read'>
  readonly userIds: UserIds
  readonly loginTimes: Pick<LoginTimes, 'recordLogin'>
  readonly meta: {
    /** Opens the file and runs its missing migrations; writes nothing else. */
    open(): Promise<void>
    ping(): Promise<void>
  }
}

export const writeMethods: { readonly [S in keyof Writes]: { readonly [M in keyof Writes[S]]: true } } = {
  users: { insert: true, insertAll: true, replace: true, remove: true },
  outbox: {
    append: true,
    distribute: true,
    lease: true,
    renew: true,
    settle: true,
    postpone: true,
    bury: true,
    release: true,
    revive: true,
    discard: true,
    sweepDead: true,
  },
  tokenRequests: {
    ask: true,
    lease: true,
    bind: true,
    postpone: true,
    settle: true,
    sweep: true,
    bury: true,
    revive: true,
    discard: true,
    sweepDead: true,
  },
  expiringMarks: { add: true, addAll: true, claim: true, sweep: true },
  tokens: { put: true, remove: true, removeAllOf: true, sweep: true },
  singleUseRecords: { put: true, take: true, sweep: true },
  sessions: { put: true, putAll: true, recordUse: true, remove: true, removeAllOf: true, sweep: true },
  tenantTexts: { exchange: true },
  userIds: { keep: true, kept: true, next: true, skip: true },
  loginTimes: { recordLogin: true },
  meta: { open: true, ping: true },
}

/** A port's methods as the thread implements them: each gets the time of the call first, and returns at once. */
export type InThread<Port> = {
  readonly [M in keyof Port]: Port[M] extends (...args: infer A) => Promise<infer R>
    ? (now: number, ...args: A) => R
    : never
}

/** A call of a method of `Writes`. Its arguments and its result are plain data. */
export interface Step {
  readonly store: keyof Writes
  readonly method: string
  readonly args: readonly unknown[]
  /** The time of the call, in milliseconds since 1970. */
  readonly now: number
  /** By `monotonicMs`. The step does not begin later, because its caller has got `Unavailable` by then. */
  readonly deadline: number
}

export type Outcome = { readonly value: unknown } | { readonly fault: Fault }

export interface Fault {
  readonly kind: 'unavailable' | 'unsuitable' | 'mistake'
  readonly message: string
  /** An `Error` keeps its message and stack when it is sent to another thread. */
  readonly cause?: unknown
}

export interface Place {
  readonly path: string
  /** Many such files are open in this process. */
  readonly isSmall: boolean
  /** Refuses a file that lacks migrations. */
  readonly leavesMigrations?: boolean
}

/** A file that exists. Another file that takes its name has other numbers. */
export interface FoundPlace extends Place {
  readonly device: number
  readonly inode: number
}

/** `file` identifies one opening of a file. Each opening sends one batch at a time. */
export type Order =
  | { readonly file: number; readonly place: FoundPlace; readonly steps: readonly Step[] }
  | { readonly file: number; readonly steps: 'close' }
  | 'end'

/** The answer to an order: an outcome for each step, none for `close`. */
export interface Report {
  readonly file: number
  readonly outcomes: readonly Outcome[]
}

/** Milliseconds of a monotonic clock that all threads of the process share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
