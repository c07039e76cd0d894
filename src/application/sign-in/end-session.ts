import { Refusal } from '../../domain/refusal.ts'
import { endCredential, type User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import { requireRight } from '../rights.ts'
import type { By } from './authenticate.ts'
import type { FreshLoginNeeds } from './fresh-login.ts'

interface Needs extends FreshLoginNeeds {
  sessions: SessionStore
  changeUser: ChangeUser
}

/** Ends one stored session of a user, in every process. */
export class EndSession {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Refuses the session of another user like an unknown one.
   *
   * @param input.by a superuser, the user itself, or the program or command that decides by itself
   */
  async execute(input: { by: By; target: User; id: string }): Promise<void> {
    const { by, target, id } = input
    const { sessions, changeUser } = this.#needs
    requireRight(this.#needs, by, 'end_sessions', target)
    const session = await sessions.find(id)
    if (session?.userId !== target.id || !(await sessions.remove(id))) throw new Refusal('NOT_FOUND')
    if (target.sessions.keptSid !== session.sid) return
    await changeUser.execute(target.id, (fresh) => ({
      type: 'replace',
      user: endCredential(fresh, session.sid, null),
      events: [],
    }))
  }
}
