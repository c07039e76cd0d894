import type { AccountEvent } from '../domain/events.ts'
import type { UserId } from '../domain/ids.ts'
import { Refusal, Unavailable } from '../domain/refusal.ts'
import { keepingImport, type User } from '../domain/user.ts'
import type { UserStore, WriteOptions } from './ports/stores/user-store.ts'
import type { Timers } from './ports/timers.ts'
import { takenField } from './taken-field.ts'

export type Change =
  | ({ readonly type: 'replace'; readonly user: User; readonly events: readonly AccountEvent[] } & WriteOptions)
  | ({ readonly type: 'remove'; readonly events: readonly [AccountEvent, ...AccountEvent[]] } & WriteOptions)
  | { readonly type: 'keep' }

export type ChangeOutcome =
  | { readonly type: 'changed'; readonly user: User }
  | { readonly type: 'removed' | 'gone' | 'email_taken' | 'account_taken' | 'passkey_taken' }
  | { readonly type: 'field_taken'; readonly field: string }

type Decide = (user: User) => Change | Promise<Change>

interface Needs {
  users: UserStore
  timers: Timers
  random: () => number
  /** Called after a write of events, so that they need not wait for the next poll of the relay. Must not throw. */
  wakeRelay?: () => void
}

/** The user has too many undelivered events (`maxWaitingEvents`), so the change and its events were not written. */
export class QueueFull extends Unavailable {
  constructor() {
    super('a user has too many undelivered events')
  }
}

const maxAttempts = 100
const longestPauseMilliseconds = 50

/**
 * The one compare-and-set loop. Each attempt calls `decide` with the current record, so it repeats every check of the
 * record, and may refuse. Nothing computed from an older record is written.
 */
export class ChangeUser {
  readonly #needs: Needs
  /** The last change of each user in this process. The next one waits for it instead of racing it. */
  readonly #last = new Map<UserId, Promise<unknown>>()

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Throws `QueueFull` if the queue of the user has no room for the events of the change. Refuses a change that would leave
   * no active superuser, and the removal of a user to whom records of the deployer refer.
   */
  async execute(id: UserId, decide: Decide): Promise<ChangeOutcome> {
    const before = this.#last.get(id) ?? Promise.resolve()
    const change = before.then(() => this.#attempt(id, decide))
    // If the store does not answer this change, the waiting changes fail with it, too: otherwise each would time out in turn.
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
      // Thrown here and not within the chain, because the next changes of the user may need no room.
      if (outcome.type === 'full') throw new QueueFull()
      return outcome
    } finally {
      if (this.#last.get(id) === settled) this.#last.delete(id)
    }
  }

  async #attempt(id: UserId, decide: Decide): Promise<ChangeOutcome | { readonly type: 'full' }> {
    const { users, timers, random, wakeRelay } = this.#needs
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const user = await users.find(id)
      if (user === null) return { type: 'gone' }

      const change = await decide(user)
      if (change.type === 'keep') return { type: 'changed', user }
      const { mayLeaveNoSuperuser = false } = change
      if (change.type === 'remove') {
        const outcome = await users.remove(user, change.events, { mayLeaveNoSuperuser })
        if (outcome === 'last_superuser') await this.#activateAnother(id)
        if (outcome === 'referenced') throw new Refusal('DELETE_USER_REFUSED', 'Other records refer to this account')
        if (outcome === 'removed') {
          wakeRelay?.()
          return { type: 'removed' }
        }
      } else {
        const next = keepingImport(user, change.user)
        const outcome = await users.replace(next, change.events, { mayLeaveNoSuperuser })
        if (outcome === 'last_superuser') await this.#activateAnother(id)
        if (outcome === 'stored') {
          if (change.events.length > 0) wakeRelay?.()
          return { type: 'changed', user: { ...next, version: user.version + 1 } }
        }
        if (outcome === 'field_taken') return { type: outcome, field: await takenField(users, change.user) }
        if (outcome !== 'stale' && outcome !== 'last_superuser') return { type: outcome }
      }
      await timers.pause(random() * Math.min(longestPauseMilliseconds, 2 ** attempt))
    }
    throw new Unavailable('other processes change a user record all the time')
  }

  /**
   * The store counts superusers who are written as active. So it writes the activation of another one whose deactivation has ended,
   * or refuses the change.
   */
  async #activateAnother(id: UserId): Promise<void> {
    const { users } = this.#needs
    const page = await users.search({ isSuperuser: true, isActive: true }, 2, null)
    const another = page === 'bad_cursor' ? undefined : page.items.find(({ user }) => user.id !== id)
    if (another === undefined) throw new Refusal('LAST_SUPERUSER')
    await users.replace(keepingImport(another.user, another.user), [])
  }
}
