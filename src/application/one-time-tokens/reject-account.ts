import { nobody } from '../../domain/actor.ts'
import { accountEvent } from '../../domain/events.ts'
import { stands } from '../../domain/one-time-token.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import { askForObjection, type ObjectionNeeds } from '../accounts/deletion-objection.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type RequestFacts } from '../event-metadata.ts'
import { findRedeemable, type RedeemNeeds } from './redeem-token.ts'

interface Needs extends ObjectionNeeds, RedeemNeeds {
  changeUser: ChangeUser
}

const rejectableMilliseconds = 7 * 24 * 60 * 60 * 1000

/**
 * Deletes an account that somebody else created with the address of the token holder. The account must be recent: a user
 * who enters a wrong new address must not lose an old one to the owner of that address. A token that confirms a new
 * address only becomes invalid.
 */
export class RejectAccount {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: RequestFacts & { token: string }): Promise<void> {
    const found = await findRedeemable(this.#needs, 'verify_email', input.token)
    if (found === null) return await this.#rejectChange(input.token)
    const { token, user } = found
    this.#requireRejectable(user)
    await askForObjection(this.#needs, user, input, nobody)
    const outcome = await this.#needs.changeUser.execute(token.userId, (fresh) => {
      if (!stands(token, fresh)) throw new Refusal('VERIFY_USER_BAD_TOKEN')
      this.#requireRejectable(fresh)
      return { type: 'remove', events: [accountEvent('deleted', fresh, eventMetadata(this.#needs, input, nobody))] }
    })
    if (outcome.type !== 'removed') throw new Refusal('VERIFY_USER_BAD_TOKEN')
  }

  async #rejectChange(value: string): Promise<void> {
    const found = await findRedeemable(this.#needs, 'change_email', value)
    if (found === null) throw new Refusal('VERIFY_USER_BAD_TOKEN')
    await this.#needs.tokens.remove(found.token.purpose, found.token.digest)
  }

  #requireRejectable(user: User): void {
    if (!user.isActive) throw new Refusal('VERIFY_USER_BAD_TOKEN') // otherwise a deactivated user could register again
    if (user.isVerified) throw new Refusal('VERIFY_USER_ALREADY_VERIFIED')
    const age = this.#needs.clock().getTime() - user.createdAt.getTime()
    if (user.isSuperuser || age > rejectableMilliseconds) {
      const reason = 'Only an account of the last 7 days can be rejected'
      throw new Refusal('DELETE_USER_REFUSED', reason, { rule: 'too_old' })
    }
  }
}
