import { person } from '../../domain/actor.ts'
import { accountEvent, updatedEvent } from '../../domain/events.ts'
import { levelOf } from '../../domain/factors.ts'
import { stands } from '../../domain/one-time-token.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { type Authenticated, actorOf, speaksFor } from '../sign-in/authenticate.ts'
import { type FormerNeeds, findFormer } from './former-token.ts'
import { discard, findRedeemable } from './redeem-token.ts'

interface Needs extends MetadataNeeds, FormerNeeds {
  changeUser: ChangeUser
  /** Whether a token for the present address can only be used within a session of its account, too. */
  requiresSession: boolean
}

/**
 * Marks an address as verified, because the holder of the token reads its mail: the present address, or the new one that the
 * token confirms. Within a session of the account it also marks the owner as proved, because the same person knows the
 * password, and as the owner of the second factors, if the login has shown one. A new address always needs this session: otherwise the owner of a mistyped one could confirm it, and take the
 * account by a reset. Without the session, the token stays valid.
 */
export class VerifyUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by the logged-in user, if any */
  async execute(input: RequestFacts & { token: string; by?: Authenticated | null }): Promise<User> {
    const { changeUser, requiresSession } = this.#needs
    const { by = null } = input
    if (requiresSession && by === null) throw new Refusal('UNAUTHORIZED')

    const found =
      (await findRedeemable(this.#needs, 'verify_email', input.token)) ??
      (await findRedeemable(this.#needs, 'change_email', input.token)) ??
      (await findFormer(this.#needs, 'verify_email', input.token))
    if (found === null) throw new Refusal('VERIFY_USER_BAD_TOKEN')
    const { token } = found

    const outcome = await changeUser.execute(token.userId, async (fresh) => {
      if (!stands(token, fresh)) throw new Refusal('VERIFY_USER_BAD_TOKEN')
      const isWithinSession = by !== null && by.user.id === fresh.id && (await speaksFor(fresh, by))
      const newEmail = 'newEmail' in token.fact ? token.fact.newEmail : null
      const needsSession = requiresSession || newEmail !== null
      if (needsSession && !isWithinSession) throw new Refusal('UNAUTHORIZED')
      const actor = by !== null && isWithinSession ? actorOf(by) : person(fresh, null)
      const metadata = () => eventMetadata(this.#needs, input, actor)
      const { isUnverified: _, ...factors } = fresh.factors
      const hasShownFactor = isWithinSession && levelOf(by.credential) === 2
      const verified = {
        ...fresh,
        isVerified: true,
        isOwnerProved: fresh.isOwnerProved || isWithinSession,
        factors: hasShownFactor ? factors : fresh.factors,
      }
      if (newEmail !== null) {
        const user = { ...verified, email: newEmail }
        const changes = { email: newEmail, previousEmail: fresh.email, ...(!fresh.isVerified && { isVerified: true }) }
        const changed = updatedEvent(user, changes, metadata())
        return { type: 'replace', user, events: [changed, accountEvent('verified', user, metadata())] }
      }
      if (fresh.isVerified) throw new Refusal('VERIFY_USER_ALREADY_VERIFIED')
      return { type: 'replace', user: verified, events: [accountEvent('verified', verified, metadata())] }
    })
    // Another user may have taken the new address meanwhile.
    if (outcome.type !== 'changed') throw new Refusal('VERIFY_USER_BAD_TOKEN')
    await discard(this.#needs, token)
    return outcome.user
  }
}
