import { type Actor, person } from '../../domain/actor.ts'
import { emailKey } from '../../domain/email.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { CausingRequest } from '../event-metadata.ts'
import { type Limits, unknownCaller } from '../limits/limits.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Backend } from '../sign-in/authenticate.ts'
import {
  type CompleteLoginNeeds,
  completeLogin,
  type LoginClient,
  type LoginResult,
} from '../sign-in/complete-login.ts'
import { type Challenges, type FactorMethod, stillProves } from './challenges.ts'
import { twoFactors } from './level.ts'
import { type UseFactorNeeds, useFactor } from './use-factor.ts'

interface Needs extends CompleteLoginNeeds, UseFactorNeeds {
  users: UserStore
  challenges: Challenges
  limits: Pick<Limits, 'mayTellSignIn' | 'factor'>
}

/** Completes a login with a second factor. */
export class FinishLogin {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Refuses alike a wrong or used code, and a challenge that is unknown, expired, used, tried five times, of another backend or browser, or of a
   * record that has changed since.
   */
  async execute(
    input: CausingRequest & LoginClient & { challenge: string; method: FactorMethod; code: string; backend: Backend },
  ): Promise<LoginResult> {
    const needs = this.#needs
    const { challenge, method, code, backend, browser = null, caller, traits, requestId, languages } = input
    const { client, device } = caller ?? unknownCaller
    const held = await needs.challenges.take(challenge, { backend: backend.name, browser })
    if (held === null) throw new Refusal('SECOND_FACTOR_REFUSED')
    const found = await needs.users.find(held.userId)
    if (found === null || !stillProves(held, found)) {
      await needs.challenges.end(held)
      throw new Refusal('SECOND_FACTOR_REFUSED')
    }

    const isValid = (user: User): boolean => stillProves(held, user)
    const by = (user: User): Actor => person(user, null)
    const request = { requestId, languages }
    let user: User | null
    try {
      const attempt = { client, device, account: emailKey(found.email), passwordVersion: found.passwordVersion }
      user = await needs.limits.factor(attempt, () =>
        useFactor(needs, held.userId, { method, code, by, isValid, ...request }),
      )
    } catch (thrown) {
      await needs.challenges.giveBack(held, false)
      throw thrown
    }
    if (user === null) {
      await needs.challenges.giveBack(held, true)
      throw new Refusal('SECOND_FACTOR_REFUSED')
    }
    await needs.challenges.end(held)
    const { requiresVerification } = held
    const methods = [...new Set([...held.methods, 'otp', twoFactors])]
    return await completeLogin(needs, { user, backend, methods, requiresVerification, caller, traits, ...request })
  }
}
