import type { Actor } from '../../domain/actor.ts'
import { type Email, emailKey } from '../../domain/email.ts'
import { type UserChanges, updatedEvent } from '../../domain/events.ts'
import { hasFactor, noFactors } from '../../domain/factors.ts'
import { activated, endSessions, type User } from '../../domain/user.ts'
import { unique } from '../../domain/user-record.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { takeOver } from '../oauth/take-over.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

interface Needs extends MetadataNeeds {
  users: UserStore
  changeUser: ChangeUser
}

/**
 * Makes a user an active, verified superuser, for operators who have the storage. No route does this. An attacker may
 * have registered the address first, so a password that is not known to be the owner's is removed.
 */
export class PromoteUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Returns `null` when no user has the address.
   *
   * @param input.by a program by default
   */
  async execute(input: RequestFacts & { email: Email; by?: Actor }): Promise<User | null> {
    const { users, changeUser } = this.#needs
    const { by = { type: 'program' } } = input
    const found = await users.findBy(unique.email(emailKey(input.email)))
    if (found === null) return null

    const outcome = await changeUser.execute(found.id, (fresh) => {
      const changes: UserChanges = {
        ...(!fresh.isActive && { isActive: true }),
        ...(!fresh.isSuperuser && { isSuperuser: true }),
        ...(!fresh.isVerified && { isVerified: true }),
      }
      const hasChanges = Object.keys(changes).length > 0
      if (!hasChanges && fresh.isOwnerProved) return { type: 'keep' }
      const promoted: User = { ...activated(fresh), isSuperuser: true, isVerified: true }
      const { user, events } = fresh.isOwnerProved
        ? { user: promoted, events: [] }
        : takeOver(this.#needs, input, by, withoutFactors(this.#needs, promoted))
      const metadata = eventMetadata(this.#needs, input, by)
      const updated = hasChanges ? [updatedEvent(user, changes, metadata)] : []
      if (user.factors !== fresh.factors) {
        const removal = eventMetadata(this.#needs, input, by)
        updated.push(updatedEvent(user, { factorRemoved: 'all' }, removal, { sessionsEnded: true }))
      }
      return { type: 'replace', user, events: [...events, ...updated] }
    })
    return outcome.type === 'changed' ? outcome.user : null
  }
}

/** Somebody who has registered the address of another person may have added a passkey, and would be a superuser by it. */
function withoutFactors({ clock }: Pick<MetadataNeeds, 'clock'>, user: User): User {
  return hasFactor(user) ? { ...endSessions(user, clock()), factors: noFactors } : user
}
