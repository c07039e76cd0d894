import type { AccountEvent } from '../../../domain/events.ts'
import type { UserId } from '../../../domain/ids.ts'
import type { User } from '../../../domain/user.ts'
import type { FoundUser, UserCriteria } from '../../../domain/user-criteria.ts'
import type { KeyKind, UniqueKey } from '../../../domain/user-record.ts'
import type { Page } from './page.ts'

/** A write that may leave no active superuser. */
export interface WriteOptions {
  readonly mayLeaveNoSuperuser?: boolean
}

/** The kind of the key that another user has. */
export type Taken = 'email_taken' | 'account_taken' | 'field_taken' | 'passkey_taken'

/** The answer about the first of these kinds of keys, which other users have, in the order of `Taken`; `null` for none. */
export function takenAmong(kinds: readonly KeyKind[]): Taken | null {
  if (kinds.includes('email')) return 'email_taken'
  if (kinds.includes('account')) return 'account_taken'
  if (kinds.some((kind) => kind.startsWith('field:'))) return 'field_taken'
  return kinds.includes('passkey') ? 'passkey_taken' : null
}

/** A count that ends at a bound. */
export interface UserCount {
  readonly count: number
  /** Whether there are no more. */
  readonly isComplete: boolean
}

/** Users. A user and its waiting events are one aggregate: they are written together or not at all. */
export interface UserStore {
  find(id: UserId): Promise<User | null>
  /** The user with this unique key (`keysOf`). Compares texts exactly. */
  findBy(key: UniqueKey): Promise<User | null>

  /**
   * Of any number of concurrent inserts that share a unique key, exactly one is `'stored'`. If several are taken, the answer is the first one of `Taken`; without accounts it is never
   * `'account_taken'`. With any other answer nothing was written, and no event either.
   */
  insert(user: User, events: readonly AccountEvent[]): Promise<'stored' | Taken>

  /**
   * Stores new users without events by one write. `false`: none of them is stored, because an id or a unique key is taken, maybe by
   * one of them. A store has it if it is much faster than `insert` for each.
   */
  insertAll?(users: readonly User[]): Promise<boolean>

  /**
   * Writes `user` only if the stored version is still `user.version`, and stores version + 1. `'stale'` when the
   * version differs or the user is gone, even if a key is taken. `'last_superuser'` when the stored user is the only
   * active superuser, and `user` is none, unless the options allow it. `'full'` when too many events wait (`haveRoom`),
   * dead letters not counted. Otherwise like `insert`, except that the user's own keys do not count as taken. Keys that the user no longer has become free.
   *
   * Of any number of concurrent calls of `replace` and `remove` that the options do not allow it, none leaves the store
   * without an active superuser.
   */
  replace(
    user: User,
    events: readonly AccountEvent[],
    options?: WriteOptions,
  ): Promise<'stored' | 'stale' | 'last_superuser' | 'full' | Taken>

  /**
   * Removes the user only if the stored version is still `user.version`; `'removed'` for exactly one caller. The
   * unique keys become free; the events stay. At least one event is required, because its delivery removes the sessions
   * and tokens of the user. `'last_superuser'` as in `replace`: nothing was written. `'referenced'` when records of the
   * deployer in the same database refer to the user: nothing was written.
   */
  remove(
    user: User,
    events: readonly [AccountEvent, ...AccountEvent[]],
    options?: WriteOptions,
  ): Promise<'removed' | 'stale' | 'last_superuser' | 'referenced'>

  /** A page of at most `limit` users in the order of their ids, behind the id `after`. */
  list(limit: number, after: string | null): Promise<Page<User>>

  /**
   * A page of the users that meet `criteria`, in an order that the store chooses. A user who does not change meanwhile is on
   * exactly one page. `next` is a cursor for later calls with the same criteria, but a later `now`. A page reads a bounded number of records,
   * so with several criteria it may have fewer than `limit` users, or none, though `next` is not `null`.
   *
   * `'bad_cursor'` for a text that cannot be such a cursor.
   */
  search(criteria: UserCriteria, limit: number, after: string | null): Promise<Page<FoundUser> | 'bad_cursor'>

  /** Counts at most `most` users that meet `criteria`, and may stop after as many records. */
  count(criteria: UserCriteria, most: number): Promise<UserCount>

  /** Each prefix of algorithm and cost among the stored hashes, e.g. `$argon2id$v=19$m=19456,t=2,p=1`. */
  passwordSchemes(): Promise<readonly string[]>
}
