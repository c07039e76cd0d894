import { type Email, emailKey } from '../domain/email.ts'
import { happened, type UserChanges } from '../domain/events.ts'
import { demandEmail, demandText } from '../domain/invalid-input.ts'
import type { User } from '../domain/user.ts'
import type { ChangeUser } from './change-user.ts'
import { occasion } from './occasion.ts'
import { type RegisterNeeds, register } from './register-user.ts'

interface Needs extends RegisterNeeds {
  changeUser: ChangeUser
}

/** How a deployment gets its first superuser: by whoever has the storage, never over HTTP. */
export class CreateSuperuser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  execute(input: { email: Email; password: string; requestId: string }): Promise<User> {
    return register(this.#needs, input, { isSuperuser: true, isVerified: true })
  }

  /** Makes whoever has the address an active, verified superuser; `null` when nobody has it. */
  async promote(input: { email: Email; requestId: string }): Promise<User | null> {
    const { users, changeUser } = this.#needs
    demandEmail('email', input.email)
    demandText('requestId', input.requestId)
    const found = await users.findByEmail(emailKey(input.email))
    if (found === null) return null

    const changes: UserChanges = { isActive: true, isSuperuser: true, isVerified: true }
    const outcome = await changeUser.execute(found.id, (user) => {
      if (user.isActive && user.isSuperuser && user.isVerified) return { type: 'keep' }
      const promoted: User = { ...user, isActive: true, isSuperuser: true, isVerified: true }
      const event = happened('updated', promoted, occasion(this.#needs, input.requestId))
      return { type: 'replace', user: promoted, events: [{ ...event, changes, sessionsEnded: null }] }
    })
    return outcome.type === 'changed' ? outcome.user : null
  }
}
