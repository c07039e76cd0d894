import type { Email } from '../../domain/email.ts'
import { Refusal } from '../../domain/refusal.ts'
import { type FormerNeeds, findForPassword } from './former-token.ts'

/** Tells the holder of a token for a reset or of an invitation whose password it would set, before the person chooses one. The token stays valid. */
export class CheckResetToken {
  readonly #needs: FormerNeeds
  constructor(needs: FormerNeeds) {
    this.#needs = needs
  }

  /** Returns the address of the user, and whether it is the token of an invitation. */
  async execute({ token }: { token: string }): Promise<{ email: Email; isInvitation: boolean }> {
    const found = await findForPassword(this.#needs, token)
    if (found === null) throw new Refusal('RESET_PASSWORD_BAD_TOKEN')
    return { email: found.user.email, isInvitation: found.token.purpose === 'invite' }
  }
}
