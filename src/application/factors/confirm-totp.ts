import { updatedEvent } from '../../domain/events.ts'
import { totpBinding } from '../../domain/factors.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import type { FactorCodes } from '../ports/factor-codes.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { type AddedFactor, addedFactor } from './added-factor.ts'
import { type SealedSetup, setupBinding } from './begin-totp.ts'
import { newRecoveryCodes, withFactor } from './recovery-codes.ts'

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
  keyRing: KeyRing
  factorCodes: FactorCodes
}

/** Adds an authenticator app as a second factor of the user. The first factor ends all other logins. */
export class ConfirmTotp {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Refuses a wrong code, and a set-up that is expired or of another user. The code is used up. */
  async execute(input: RequestFacts & { by: Authenticated; setup: string; code: string }): Promise<AddedFactor> {
    const { by, setup, code, traits } = input
    const { changeUser, keyRing, factorCodes, clock } = this.#needs
    const { id } = by.user
    requireRight(this.#needs, by, 'change_factors', by.user)
    const opened = keyRing.unsealFactor(setup, setupBinding(id))
    const now = clock()
    const { secret, expiresAt } = opened === null ? nothing : (JSON.parse(opened) as SealedSetup) // safe: `BeginTotp` sealed it
    const step = expiresAt > now.getTime() ? await factorCodes.totpStep(secret, code, now) : null
    if (step === null) throw new Refusal('SECOND_FACTOR_REFUSED')

    const { codes, stored: recovery } = newRecoveryCodes(this.#needs, id)
    const totp = { sealedSecret: keyRing.sealFactor(secret, totpBinding(id)), lastStep: step, addedAt: now.getTime() }
    let isFirst = false
    const outcome = await changeUser.execute(id, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      if (fresh.factors.totp !== null) throw new Refusal('FACTOR_ALREADY_EXISTS')
      const one = withFactor(fresh, { totp }, { recovery, now })
      isFirst = one.isFirst
      const { user } = one
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      const event = updatedEvent(user, { factorAdded: 'totp' }, metadata, { sessionsEnded: isFirst })
      return { type: 'replace', user, events: [event] }
    })
    if (outcome.type !== 'changed') throw new Refusal('UNAUTHORIZED')
    return await addedFactor({ user: outcome.user, by, isFirst, codes, traits })
  }
}

const nothing: SealedSetup = { secret: '', expiresAt: 0 }
