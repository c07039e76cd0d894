import { type Email, emailKey } from '../../domain/email.ts'
import { happened, type UserChanges } from '../../domain/events.ts'
import { demandEmail, demandText } from '../../domain/invalid-input.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type OccasionNeeds, occasion } from '../event-metadata.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

interface Needs extends OccasionNeeds {
  users: UserStore
  changeUser: ChangeUser
}

/** Makes somebody who has an account an active, verified superuser: by whoever has the storage, never over HTTP. */
export class PromoteUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** `null` when nobody has the address. */
  async execute(input: { email: Email; requestId: string }): Promise<User | null> {
    const { users, changeUser } = this.#needs
    demandEmail('email', input.email)
    demandText('requestId', input.requestId)
    const found = await users.findByEmail(emailKey(input.email))
    if (found === null) return null

    const outcome = await changeUser.execute(found.id, (fresh) => {
      const changes: UserChanges = {
        ...(!fresh.isActive && { isActive: true }),
        ...(!fresh.isSuperuser && { isSuperuser: true }),
        ...(!fresh.isVerified && { isVerified: true }),
      }
      if (Object.keys(changes).length === 0) return { type: 'keep' }
      const user: User = { ...fresh, isActive: true, isSuperuser: true, isVerified: true }
      const event = happened('updated', user, occasion(this.#needs, input.requestId))
      return { type: 'replace', user, events: [{ ...event, changes, sessionsEnded: false }] }
    })
    return outcome.type === 'changed' ? outcome.user : null
  }
}
