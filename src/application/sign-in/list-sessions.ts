import { Refusal } from '../../domain/refusal.ts'
import type { ClientTraits } from '../../domain/session.ts'
import { isAlive, type User } from '../../domain/user.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import type { Authenticated } from './authenticate.ts'

/** A stored session, as its user and superusers see it. */
export interface SessionView extends ClientTraits {
  /** Identifies the session for `EndSession`. It is no credential. */
  readonly id: string
  readonly createdAt: Date
  /** The last recorded use, at most 15 minutes before the real one. */
  readonly usedAt: Date
  /** Whether it is the session of this request. */
  readonly isCurrent: boolean
}

/** Further sessions work but are not listed. */
const mostListed = 100

/** Lists the newest live sessions of a user. JWTs are not stored, so they are not listed. */
export class ListSessions {
  readonly #sessions: SessionStore
  constructor(needs: { sessions: SessionStore }) {
    this.#sessions = needs.sessions
  }

  /** @param input.by a superuser or the user itself; `'program'` when the program decides by itself */
  async execute(input: { by: Authenticated | 'program'; target: User }): Promise<readonly SessionView[]> {
    const { by, target } = input
    if (by !== 'program' && !by.user.isSuperuser && by.user.id !== target.id) throw new Refusal('FORBIDDEN')
    const sessions = await this.#sessions.listOf(target.id, mostListed)
    // A new password, for example, ends sessions that the relay has not removed yet.
    const alive = sessions.filter((session) => isAlive(target, session))
    const current = by === 'program' ? null : by.credential.id
    return alive.map(({ digest: id, createdAt, seenAt, network, browser, system }) => {
      return { id, createdAt, usedAt: seenAt, network, browser, system, isCurrent: id === current }
    })
  }
}
