import { updatedEvent } from '../../domain/events.ts'
import type { Passkey } from '../../domain/factors.ts'
import { InvalidInput, Refusal } from '../../domain/refusal.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { type AddedFactor, addedFactor } from '../factors/added-factor.ts'
import { newRecoveryCodes, withFactor } from '../factors/recovery-codes.ts'
import type { FactorCodes } from '../ports/factor-codes.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { PasskeyResponse, PasskeyVerifier } from '../ports/passkey-verifier.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { mostPasskeys } from './begin-passkey.ts'
import type { PasskeyChallenges } from './passkey-challenges.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
  keyRing: KeyRing
  factorCodes: FactorCodes
  passkeyChallenges: PasskeyChallenges
  passkeys: PasskeyVerifier
  /** Notes that passkeys of this domain are in use. A later start with another domain then warns. */
  noteRpId: (rpId: string) => Promise<void>
}

/** Adds a passkey to a user. The first factor of a user ends all other logins. */
export class AddPasskey {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Refuses these answers alike: to a challenge that is unknown, used, expired, of another login or of a sign-in; of another origin or
   * domain. It also refuses a passkey that is not discoverable, and an authenticator that has not verified the user.
   */
  async execute(
    input: RequestFacts & { by: Authenticated; response: PasskeyResponse; name: string },
  ): Promise<AddedFactor & { passkey: Passkey }> {
    const { by, response, name, traits } = input
    const { changeUser, passkeyChallenges, passkeys, clock, noteRpId } = this.#needs
    const { id } = by.user
    requireRight(this.#needs, by, 'change_factors', by.user)
    const challenge = passkeys.challengeOf(response)
    if (challenge === null) throw new InvalidInput('response', 'must be the answer of an authenticator')
    const enrolment = { userId: id, sid: by.credential.sid }
    const begun = await passkeyChallenges.take(challenge, enrolment)
    const made = begun && (await passkeys.enrolled(response, challenge))
    if (begun === null || made === null) throw new Refusal('SECOND_FACTOR_REFUSED')

    await noteRpId(made.rpId)
    const now = clock()
    const passkey: Passkey = { ...made, name, addedAt: now.getTime() }
    const { codes, stored } = newRecoveryCodes(this.#needs, id)
    let isFirst = false
    const outcome = await changeUser.execute(id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      const { passkeys: present, passkeyHandle = begun.handle } = fresh.factors
      // Another request has added the first passkey meanwhile, so the handle in this one's authenticator is unknown.
      if (passkeyHandle !== begun.handle) throw new Refusal('SECOND_FACTOR_REFUSED')
      const isTaken = present.some((one) => one.id === passkey.id)
      if (isTaken || present.length >= mostPasskeys) throw new Refusal('FACTOR_ALREADY_EXISTS')
      const added = { passkeys: [...present, passkey], passkeyHandle }
      const one = withFactor(fresh, added, { recovery: stored, now })
      isFirst = one.isFirst
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      const event = updatedEvent(one.user, { factorAdded: 'passkey' }, metadata, { sessionsEnded: isFirst })
      return { type: 'replace', user: one.user, events: [event] }
    })
    if (outcome.type === 'passkey_taken') throw new Refusal('FACTOR_ALREADY_EXISTS')
    if (outcome.type !== 'changed') throw new Refusal('UNAUTHORIZED')
    const added = await addedFactor({ user: outcome.user, by, isFirst, codes, traits })
    return { passkey, recoveryCodes: added.recoveryCodes, issued: added.issued }
  }
}
