import { happened } from '../../domain/events.ts'
import { demandText } from '../../domain/invalid-input.ts'
import { withVouchedAccounts } from '../../domain/oauth-account.ts'
import { type PasswordPolicy, passwordObjection } from '../../domain/password.ts'
import { Refusal } from '../../domain/refusal.ts'
import { endSessions, withPassword } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type OccasionNeeds, occasion } from '../event-metadata.ts'
import { linkEvent } from '../oauth/link-event.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { discard, findRedeemable, stands } from './redeem-token.ts'

interface Needs extends OccasionNeeds {
  users: UserStore
  changeUser: ChangeUser
  tokens: TokenStore
  keyRing: KeyRing
  hasher: PasswordHasher
  policy: PasswordPolicy
}

/**
 * Gives a new password to the holder of a reset token. Every session of the user ends, and so does every link whose
 * provider does not vouch for the address: a thief may have made it. The first write that still sees the password the
 * token was made for wins; a fault before that write leaves the token good.
 */
export class ResetPassword {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: { token: string; password: string; requestId: string }): Promise<void> {
    const { changeUser, hasher, policy, clock } = this.#needs
    demandText('token', input.token)
    demandText('password', input.password)
    demandText('requestId', input.requestId)

    const found = await findRedeemable(this.#needs, 'reset_password', input.token)
    if (!found?.user.isActive) throw new Refusal('RESET_PASSWORD_BAD_TOKEN')
    const { token } = found

    const objection = passwordObjection(input.password, found.user.email, policy)
    if (objection !== null) throw new Refusal('RESET_PASSWORD_INVALID_PASSWORD', objection)
    const hash = await hasher.hash(input.password)

    const outcome = await changeUser.execute(token.userId, (fresh) => {
      if (!fresh.isActive || !stands(token, fresh)) throw new Refusal('RESET_PASSWORD_BAD_TOKEN')
      const { user: vouched, dropped } = withVouchedAccounts(fresh)
      const user = { ...endSessions(withPassword(vouched, hash), clock()), isOwnerProved: true }
      const event = happened('password_reset', user, occasion(this.#needs, input.requestId))
      const unlinked = dropped.map((one) => linkEvent(this.#needs, input.requestId, user, 'oauthUnlinked', one))
      return { type: 'replace', user, events: [event, ...unlinked] }
    })
    if (outcome.type !== 'changed') throw new Refusal('RESET_PASSWORD_BAD_TOKEN')
    await discard(this.#needs, token)
  }
}
