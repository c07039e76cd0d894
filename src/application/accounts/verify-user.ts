import { happened } from '../../domain/events.ts'
import { demandText } from '../../domain/invalid-input.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type OccasionNeeds, occasion } from '../event-metadata.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { type Authenticated, demandAuthenticated, speaksFor } from '../sign-in/authenticate.ts'
import { discard, findRedeemable, stands } from './redeem-token.ts'

interface Needs extends OccasionNeeds {
  users: UserStore
  changeUser: ChangeUser
  tokens: TokenStore
  keyRing: KeyRing
  /** Whether a token is redeemed only within a session of the account that it is for. */
  requiresSession: boolean
}

/**
 * Believes that the holder of a verification token reads the mail of the address it was made for. Only within a session
 * of the account is it known that the same person chose the password, too.
 */
export class VerifyUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by who is logged in meanwhile, if anybody */
  async execute(input: { token: string; by?: Authenticated | null; requestId: string }): Promise<User> {
    const { changeUser, requiresSession } = this.#needs
    const by = input.by ?? null
    if (by !== null || requiresSession) demandAuthenticated(by)
    demandText('token', input.token)
    demandText('requestId', input.requestId)

    const found = await findRedeemable(this.#needs, 'verify_email', input.token)
    if (found === null) throw new Refusal('VERIFY_USER_BAD_TOKEN')
    const { token } = found

    const outcome = await changeUser.execute(token.userId, async (fresh) => {
      if (!stands(token, fresh)) throw new Refusal('VERIFY_USER_BAD_TOKEN')
      const isWithinSession = by !== null && by.user.id === fresh.id && (await speaksFor(fresh, by))
      if (requiresSession && !isWithinSession) throw new Refusal('UNAUTHORIZED')
      if (fresh.isVerified) throw new Refusal('VERIFY_USER_ALREADY_VERIFIED')
      const user = { ...fresh, isVerified: true, isOwnerProved: fresh.isOwnerProved || isWithinSession }
      return {
        type: 'replace',
        user,
        events: [happened('verified', user, occasion(this.#needs, input.requestId))],
      }
    })
    if (outcome.type !== 'changed') throw new Refusal('VERIFY_USER_BAD_TOKEN')
    await discard(this.#needs, token)
    return outcome.user
  }
}
