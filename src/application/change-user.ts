import type { AccountEvent } from '../domain/events.ts'
import { isUserId, type UserId } from '../domain/ids.ts'
import { Unavailable } from '../domain/refusal.ts'
import type { User } from '../domain/user.ts'
import type { UserStore } from './ports/stores/user-store.ts'

export type Change =
  | { readonly type: 'replace'; readonly user: User; readonly events: readonly AccountEvent[] }
  | { readonly type: 'remove'; readonly events: readonly AccountEvent[] }
  | { readonly type: 'keep' }

export type ChangeOutcome =
  | { readonly type: 'changed'; readonly user: User }
  | { readonly type: 'removed' | 'gone' | 'email_taken' | 'account_taken' }

type Judge = (user: User) => Change | Promise<Change>

const maxAttempts = 100
const longestPauseMilliseconds = 50

/**
 * The one compare-and-set loop. `judge` runs again on the fresh record at every attempt, so it repeats every
 * judgement that rests on the record, and may refuse. Nothing it computed from an older record is written.
 */
export class ChangeUser {
  readonly #users: UserStore
  /** The last change of each user that this process is at: the next one waits for it instead of racing it. */
  readonly #last = new Map<UserId, Promise<unknown>>()

  constructor(needs: { users: UserStore }) {
    this.#users = needs.users
  }

  async execute(id: UserId, judge: Judge): Promise<ChangeOutcome> {
    if (!isUserId(id)) return { type: 'gone' }
    const before = this.#last.get(id) ?? Promise.resolve()
    const change = before.then(() => this.#attempt(id, judge))
    // Who waits behind a store that does not answer is not sent to wait for it once more.
    const settled = change.then(
      () => undefined,
      (fault) => {
        if (fault instanceof Unavailable) throw fault
      },
    )
    settled.catch(() => undefined)
    this.#last.set(id, settled)
    try {
      const outcome = await change
      // Not thrown by the change itself: the changes behind it may need no room.
      if (outcome.type === 'full') throw new Unavailable('a user has too many undelivered events')
      return outcome
    } finally {
      if (this.#last.get(id) === settled) this.#last.delete(id)
    }
  }

  async #attempt(id: UserId, judge: Judge): Promise<ChangeOutcome | { readonly type: 'full' }> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const user = await this.#users.find(id)
      if (user === null) return { type: 'gone' }

      const change = await judge(user)
      if (change.type === 'keep') return { type: 'changed', user }
      if (change.type === 'remove') {
        if ((await this.#users.remove(user, change.events)) === 'removed') return { type: 'removed' }
      } else {
        const outcome = await this.#users.replace(change.user, change.events)
        if (outcome === 'stored') return { type: 'changed', user: { ...change.user, version: user.version + 1 } }
        if (outcome !== 'stale') return { type: outcome }
      }
      await pause(attempt)
    }
    throw new Unavailable('a user record that others change all the time')
  }
}

function pause(attempt: number): Promise<void> {
  const longest = Math.min(longestPauseMilliseconds, 2 ** attempt)
  return new Promise((resolve) => setTimeout(resolve, Math.random() * longest))
}
