import { type Actor, nobody, person } from '../../domain/actor.ts'
import { emailKey } from '../../domain/email.ts'
import { accountEvent } from '../../domain/events.ts'
import { factorsSince, twoFactors } from '../../domain/factors.ts'
import { jsonId } from '../../domain/ids.ts'
import { Refusal } from '../../domain/refusal.ts'
import { unknownTraits } from '../../domain/session.ts'
import type { User } from '../../domain/user.ts'
import { QueueFull } from '../change-user.ts'
import { eventMetadata, type RequestFacts, requestFacts } from '../event-metadata.ts'
import { noting } from '../explain/note-refused.ts'
import { type Limits, unknownCaller } from '../limits/limits.ts'
import { type ProvedByPasskey as Proved, type UsePasskeyNeeds, usePasskey } from '../passkeys/use-passkey.ts'
import type { PasskeyResponse } from '../ports/passkey-verifier.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Backend } from '../sign-in/authenticate.ts'
import {
  type CompleteLoginNeeds,
  completeLogin,
  type LoginClient,
  type LoginResult,
} from '../sign-in/complete-login.ts'
import { type Challenges, stillProves } from './challenges.ts'
import { type UseFactorNeeds, useFactor } from './use-factor.ts'

/** How the user proves the second factor. */
export type FactorProof =
  | { readonly method: 'totp' | 'recovery_code'; readonly code: string }
  /** The answer to a challenge of `BeginPasskeyLogin`. */
  | { readonly method: 'passkey'; readonly response: PasskeyResponse }

interface Needs extends CompleteLoginNeeds, UseFactorNeeds, UsePasskeyNeeds {
  users: UserStore
  challenges: Challenges
  limits: Pick<Limits, 'mayTell' | 'factor' | 'challenge'>
}

/** Completes a login with a second factor. */
export class FinishLogin {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Refuses alike a wrong or used code, and a challenge that is unknown, expired, used, tried five times, of another backend or browser, or of a
   * record that has changed since. A challenge that is unknown or expired names nobody, so its refusal leaves no note. The note of the
   * first step stays.
   */
  async execute(
    input: LoginClient & {
      challenge: string
      proof: FactorProof
      backend: Backend
      /** Whether later logins in this browser need no second factor for a time. */
      trustsBrowser?: boolean
    },
  ): Promise<LoginResult> {
    const needs = this.#needs
    const { challenge, proof, backend, browser = null } = input
    const request = requestFacts(input)
    const { client, device } = request.caller ?? unknownCaller
    const held = await needs.challenges.take(challenge, { backend: backend.name, browser })
    if (held === null) throw new Refusal('SECOND_FACTOR_REFUSED')
    /** A store that is away, or a limit, does not cost the whole login. */
    const orGiveBack = async <R>(work: () => Promise<R>): Promise<R> => {
      try {
        return await work()
      } catch (thrown) {
        await needs.challenges.giveBack(held, false)
        throw thrown
      }
    }
    const found = await orGiveBack(() => needs.users.find(held.content.userId))
    if (found === null || !stillProves(held, found)) {
      const account = found && emailKey(found.email)
      const reason = found?.isActive ? 'second_factor_outdated' : 'inactive'
      return await noting(needs, { account, reason }, async () => {
        await needs.challenges.end(held)
        throw new Refusal('SECOND_FACTOR_REFUSED')
      })
    }

    const isValid = (user: User): boolean => stillProves(held, user)
    const by = (user: User): Actor => person(user, null)
    const prove = async (): Promise<Proved | null> => {
      if (proof.method === 'passkey') {
        const findUser = async () => await needs.users.find(held.content.userId)
        const proved = await usePasskey(needs, { response: proof.response, browser, findUser, ...request })
        return proved !== null && isValid(proved.user) ? proved : null
      }
      const user = await useFactor(needs, held.content.userId, { ...proof, by, isValid, ...request })
      return user && { user, methods: ['otp', twoFactors] }
    }
    const { email, passwordVersion, factors } = found
    const account = emailKey(email)
    const wrong = { account, reason: 'second_factor_wrong', detail: proof.method } as const
    const proved = await noting(needs, wrong, async () => {
      const ofUser = { account, passwordVersion, factorsSince: factorsSince(factors) }
      const proved = await orGiveBack(() => needs.limits.factor({ ...ofUser, client, device }, prove))
      if (proved !== null) return proved
      await needs.challenges.giveBack(held, true)
      if (held.content.tries === 0) await this.#tell(found, input)
      throw new Refusal('SECOND_FACTOR_REFUSED')
    })
    const { requiresVerification, methods: first } = held.content
    const methods = [...new Set([...first, ...proved.methods])]
    const { user } = proved
    const { trustsBrowser } = input
    const login = { user, backend, detail: proof.method, methods, requiresVerification, trustsBrowser, ...request }
    const result = await orGiveBack(() => completeLogin(needs, login))
    await noting(needs, wrong, () => needs.challenges.end(held))
    return result
  }

  /** Somebody knows the password. The owner learns it, unless it was the owner who mistyped the code. */
  async #tell({ id, email }: User, input: RequestFacts): Promise<void> {
    const { changeUser, eventHandlers, limits, warnOfDropped } = this.#needs
    const type = 'second_factor_refused'
    if (!eventHandlers.handles(type) || !(await limits.mayTell(type, emailKey(email)))) return
    const { traits = unknownTraits, requestId } = input
    const told = changeUser.execute(id, (fresh) => {
      const event = { ...accountEvent(type, fresh, eventMetadata(this.#needs, input, nobody)), traits }
      return { type: 'replace', user: fresh, events: [event] }
    })
    await told.catch((thrown: unknown) => {
      if (!(thrown instanceof QueueFull)) throw thrown
      warnOfDropped({ userId: jsonId(id), requestId })
    })
  }
}
