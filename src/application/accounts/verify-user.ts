import { happened } from '../../domain/events.ts'
import { demandText } from '../../domain/invalid-input.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type OccasionNeeds, occasion } from '../event-metadata.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { discard, findRedeemable, stands } from './redeem-token.ts'

interface Needs extends OccasionNeeds {
  users: UserStore
  changeUser: ChangeUser
  tokens: TokenStore
  keyRing: KeyRing
}

/** Believes that whoever holds a verification token reads the mail of the address it was made for. */
export class VerifyUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: { token: string; requestId: string }): Promise<User> {
    const { changeUser } = this.#needs
    demandText('token', input.token)
    demandText('requestId', input.requestId)

    const found = await findRedeemable(this.#needs, 'verify_email', input.token)
    if (found === null) throw new Refusal('VERIFY_USER_BAD_TOKEN')
    const { token } = found

    const outcome = await changeUser.execute(token.userId, (fresh) => {
      if (!stands(token, fresh)) throw new Refusal('VERIFY_USER_BAD_TOKEN')
      if (fresh.isVerified) throw new Refusal('VERIFY_USER_ALREADY_VERIFIED')
      const user = { ...fresh, isVerified: true }
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
