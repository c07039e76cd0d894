import { accountEvent } from '../../domain/events.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type CausingRequest, eventMetadata, type MetadataNeeds } from '../event-metadata.ts'
import { type Authenticated, speaksFor } from '../sign-in/authenticate.ts'
import { discard, findRedeemable, type RedeemNeeds, stands } from './redeem-token.ts'

interface Needs extends MetadataNeeds, RedeemNeeds {
  changeUser: ChangeUser
  /** Whether a token can only be used within a session of its account. */
  requiresSession: boolean
}

/**
 * Marks an address as verified, because the holder of the token reads its mail. Within a session of the account it also
 * marks the owner as proved, because the same person knows the password.
 */
export class VerifyUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by the logged-in user, if any */
  async execute(input: CausingRequest & { token: string; by?: Authenticated | null }): Promise<User> {
    const { changeUser, requiresSession } = this.#needs
    const { by = null } = input
    if (requiresSession && by === null) throw new Refusal('UNAUTHORIZED')

    const found = await findRedeemable(this.#needs, 'verify_email', input.token)
    if (found === null) throw new Refusal('VERIFY_USER_BAD_TOKEN')
    const { token } = found

    const outcome = await changeUser.execute(token.userId, async (fresh) => {
      if (!stands(token, fresh)) throw new Refusal('VERIFY_USER_BAD_TOKEN')
      const isWithinSession = by !== null && by.user.id === fresh.id && (await speaksFor(fresh, by))
      if (requiresSession && !isWithinSession) throw new Refusal('UNAUTHORIZED')
      if (fresh.isVerified) throw new Refusal('VERIFY_USER_ALREADY_VERIFIED')
      const user = { ...fresh, isVerified: true, isOwnerProved: fresh.isOwnerProved || isWithinSession }
      const event = accountEvent('verified', user, eventMetadata(this.#needs, input))
      return { type: 'replace', user, events: [event] }
    })
    if (outcome.type !== 'changed') throw new Refusal('VERIFY_USER_BAD_TOKEN')
    await discard(this.#needs, token)
    return outcome.user
  }
}
