import { updatedEvent } from '../../domain/events.ts'
import { noFactors } from '../../domain/factors.ts'
import { Refusal } from '../../domain/refusal.ts'
import { endSessions } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
}

/** Renames a passkey, or removes it and ends all other logins. The recovery codes go with the last factor. */
export class ChangePasskey {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.name `null` removes the passkey */
  async execute(input: RequestFacts & { by: Authenticated; id: string; name: string | null }): Promise<void> {
    const { by, id, name } = input
    requireRight(this.#needs, by, 'change_factors', by.user)
    const outcome = await this.#needs.changeUser.execute(by.user.id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      const { passkeys: present, totp } = fresh.factors
      const found = present.find((one) => one.id === id)
      if (found === undefined) throw new Refusal('NOT_FOUND')
      if (found.name === name) return { type: 'keep' }
      const passkeys =
        name === null
          ? present.filter((one) => one.id !== id)
          : present.map((one) => (one.id === id ? { ...one, name } : one))
      const isLast = passkeys.length === 0 && totp === null
      const isRemoved = name === null
      // Others may have logged in by the passkey, such as whoever found the phone.
      const kept = isRemoved ? endSessions(fresh, this.#needs.clock(), by.credential.sid) : fresh
      const user = { ...kept, factors: isLast ? noFactors : { ...fresh.factors, passkeys } }
      const changes = isRemoved ? ({ factorRemoved: 'passkey' } as const) : { passkeyRenamed: name }
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      return { type: 'replace', user, events: [updatedEvent(user, changes, metadata, { sessionsEnded: isRemoved })] }
    })
    if (outcome.type !== 'changed') throw new Refusal('UNAUTHORIZED')
  }
}
