import type { EmailKey } from '../../../domain/email.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import type { UserId } from '../../../domain/ids.ts'
import type { User } from '../../../domain/user.ts'

/** Users. A user and its waiting events are one aggregate: they are written together or not at all. */
export interface UserStore {
  find(id: UserId): Promise<User | null>
  findByEmail(key: EmailKey): Promise<User | null>
  /** Both are compared as they are spelled, letter by letter. */
  findByOAuthAccount(provider: string, accountId: string): Promise<User | null>

  /**
   * Of any number of concurrent inserts sharing an e-mail key, or an OAuth account, exactly one is `'stored'`. Where
   * both are somebody else's it is `'email_taken'`; without accounts it is never `'account_taken'`. What is not
   * `'stored'` wrote nothing, no event either.
   */
  insert(user: User, events: readonly AccountEvent[]): Promise<'stored' | 'email_taken' | 'account_taken'>

  /**
   * Writes `user` only if the stored version is still `user.version`, and stores version + 1.
   * `'stale'` when it is another, or the user is gone, whatever is taken; `'full'` when the events have no room behind
   * those that wait (`haveRoom`), dead letters aside; else as `insert`, where the user's own address and accounts are
   * never taken. What it no longer carries is free for others.
   */
  replace(
    user: User,
    events: readonly AccountEvent[],
  ): Promise<'stored' | 'stale' | 'full' | 'email_taken' | 'account_taken'>

  /**
   * Only if the stored version is still `user.version`; `'removed'` for exactly one caller. Its address and accounts
   * are free then; its events stay.
   */
  remove(user: User, events: readonly AccountEvent[]): Promise<'removed' | 'stale'>

  /** Each algorithm-and-cost prefix found among the stored hashes, e.g. `$argon2id$v=19$m=19456,t=2,p=1`. */
  passwordSchemes(): Promise<readonly string[]>
}
