import type { Email } from '../../domain/email.ts'
import { Refusal } from '../../domain/refusal.ts'
import { type FormerNeeds, findFormer } from './former-token.ts'
import { findRedeemable } from './redeem-token.ts'

/** Tells the holder of a reset token whose password it would set, before the person chooses one. The token stays valid. */
export class CheckResetToken {
  readonly #needs: FormerNeeds
  constructor(needs: FormerNeeds) {
    this.#needs = needs
  }

  /** Returns the address of the user. */
  async execute({ token }: { token: string }): Promise<{ email: Email }> {
    const found =
      (await findRedeemable(this.#needs, 'reset_password', token)) ??
      (await findFormer(this.#needs, 'reset_password', token))
    if (!found?.user.isActive) throw new Refusal('RESET_PASSWORD_BAD_TOKEN')
    return { email: found.user.email }
  }
}
