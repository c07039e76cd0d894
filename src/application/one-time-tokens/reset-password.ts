import { person } from '../../domain/actor.ts'
import type { Email } from '../../domain/email.ts'
import { type AccountEvent, accountEvent, type EventMetadata, updatedEvent } from '../../domain/events.ts'
import { hasFactor, withoutUnverified } from '../../domain/factors.ts'
import { withVouchedAccounts } from '../../domain/linked-accounts.ts'
import { stands } from '../../domain/one-time-token.ts'
import type { PasswordPolicy } from '../../domain/password.ts'
import { Refusal } from '../../domain/refusal.ts'
import { endSessions, type User, withPassword } from '../../domain/user.ts'
import { requireGoodPassword, type ValidatePassword } from '../accounts/password-validation.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import { type FormerNeeds, findForPassword } from './former-token.ts'
import { discard } from './redeem-token.ts'

interface Needs extends MetadataNeeds, FormerNeeds {
  changeUser: ChangeUser
  hasher: PasswordHasher
  policy: PasswordPolicy
  /** `undefined`: nobody else is asked about passwords. */
  validatePassword?: ValidatePassword
}

/**
 * Sets a new password for the holder of a token for a reset or of an invitation. It ends every session, and removes every link whose provider does
 * not vouch for the address, because a thief may have made it, and the second factors that were added before the address was verified. An invitation also verifies the address. Of concurrent resets with one token, the first write wins.
 * The token stays valid after a fault before that write.
 */
export class ResetPassword {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Returns the address of the user, and whether a login needs a second factor as well. */
  async execute(
    input: RequestFacts & { token: string; password: string },
  ): Promise<{ email: Email; hasFactor: boolean }> {
    const { changeUser, hasher, policy, validatePassword, clock } = this.#needs
    const found = await findForPassword(this.#needs, input.token)
    if (found === null) throw new Refusal('RESET_PASSWORD_BAD_TOKEN')
    const { token } = found
    const by = person(found.user, null)

    const { password } = input
    const code = 'RESET_PASSWORD_INVALID_PASSWORD'
    requireGoodPassword(policy, password, found.user.email, code)
    await validatePassword?.({ password, user: found.user, code, by }, input)
    const hash = await hasher.hash(password, input.caller?.client)

    const outcome = await changeUser.execute(token.userId, (fresh) => {
      if (!fresh.isActive || !stands(token, fresh)) throw new Refusal('RESET_PASSWORD_BAD_TOKEN')
      const { user: vouched, dropped } = withVouchedAccounts(fresh)
      const isInvited = token.purpose === 'invite'
      const isVerified = fresh.isVerified || isInvited
      const trusted = withoutUnverified(vouched)
      const reset = endSessions(withPassword(trusted ?? vouched, hash), clock())
      const user = { ...reset, isOwnerProved: true, isVerified }
      const metadata = () => eventMetadata(this.#needs, input, by)
      const events: AccountEvent[] = isInvited
        ? accepted(user, fresh, metadata)
        : [accountEvent('password_reset', user, metadata())]
      const unlinked = dropped.map((link) => updatedEvent(user, { oauthUnlinked: link }, metadata()))
      const removed = trusted === null ? [] : [updatedEvent(user, { factorRemoved: 'all' }, metadata())]
      return { type: 'replace', user, events: [...events, ...unlinked, ...removed] }
    })
    if (outcome.type !== 'changed') throw new Refusal('RESET_PASSWORD_BAD_TOKEN')
    await discard(this.#needs, token)
    return { email: outcome.user.email, hasFactor: hasFactor(outcome.user) }
  }
}

/** The events of an accepted invitation: nobody has to be told that the first password is new. */
function accepted(user: User, before: User, metadata: () => EventMetadata): AccountEvent[] {
  const isNew = !before.isVerified
  const changes = { password: true, ...(isNew && { isVerified: true }) } as const
  const updated = updatedEvent(user, changes, metadata(), { sessionsEnded: true })
  return isNew ? [updated, accountEvent('verified', user, metadata())] : [updated]
}
