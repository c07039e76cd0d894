import { levelOf } from '../../domain/factors.ts'
import type { ClientTraits } from '../../domain/session.ts'
import { isAlive, type User } from '../../domain/user.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import { requireRight } from '../rights.ts'
import type { By } from './authenticate.ts'
import type { FreshLoginNeeds } from './fresh-login.ts'

interface Needs extends FreshLoginNeeds {
  sessions: SessionStore
}

/** A stored session, as its user and superusers see it. */
export interface SessionView extends ClientTraits {
  /** Identifies the session for `EndSession`. It is no credential. */
  readonly id: string
  readonly createdAt: Date
  /** The last recorded use, at most 15 minutes before the real one. */
  readonly usedAt: Date
  /** How the user was proved, as in `Session`. */
  readonly methods: readonly string[]
  /** How well the user was proved: 2 by two factors, otherwise 1. */
  readonly level: 1 | 2
  /** Whether it is the session of this request. */
  readonly isCurrent: boolean
}

/** Further sessions work but are not listed. */
const mostListed = 100

/** Lists the newest live sessions of a user. JWTs are not stored, so they are not listed. */
export class ListSessions {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by a superuser, the user itself, or the program or command that decides by itself */
  async execute(input: { by: By; target: User }): Promise<readonly SessionView[]> {
    const { by, target } = input
    requireRight(this.#needs, by, 'list_sessions', target)
    const sessions = await this.#needs.sessions.listOf(target.id, mostListed)
    // A new password, for example, ends sessions that the relay has not removed yet.
    const alive = sessions.filter((session) => isAlive(target, session))
    const current = by.type === undefined ? by.credential.id : null
    return alive.map((session) => {
      const { digest: id, createdAt, seenAt, methods, network, browser, system } = session
      const traits = { network, browser, system }
      return {
        id,
        createdAt,
        usedAt: seenAt,
        ...traits,
        methods,
        level: levelOf({ methods }),
        isCurrent: id === current,
      }
    })
  }
}
