import { type Email, emailKey } from '../../domain/email.ts'
import { happened, type UserChanges } from '../../domain/events.ts'
import { demandEmail, demandText } from '../../domain/invalid-input.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type OccasionNeeds, occasion } from '../event-metadata.ts'
import { takeOver } from '../oauth/take-over.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

interface Needs extends OccasionNeeds {
  users: UserStore
  changeUser: ChangeUser
}

/**
 * Makes somebody who has an account an active, verified superuser: by whoever has the storage, never over HTTP. A stranger
 * may have registered the address of the operator's choice, so a password that does not count as the owner's goes.
 */
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
      const promoted: User = { ...fresh, isActive: true, isSuperuser: true, isVerified: true }
      const { user, events } = fresh.isOwnerProved
        ? { user: promoted, events: [] }
        : takeOver(this.#needs, input.requestId, promoted)
      const event = happened('updated', user, occasion(this.#needs, input.requestId))
      return { type: 'replace', user, events: [...events, { ...event, changes, sessionsEnded: false }] }
    })
    return outcome.type === 'changed' ? outcome.user : null
  }
}
