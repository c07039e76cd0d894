import { emailKey } from '../../domain/email.ts'
import { Refusal } from '../../domain/refusal.ts'
import { unique } from '../../domain/user-record.ts'
import { requestFacts } from '../event-metadata.ts'
import { noted, noting } from '../explain/note-refused.ts'
import type { PasskeyResponse } from '../ports/passkey-verifier.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Backend } from '../sign-in/authenticate.ts'
import {
  type CompleteLoginNeeds,
  completeLogin,
  type LoginClient,
  type LoginResult,
} from '../sign-in/complete-login.ts'
import { foundOnce } from '../sign-in/found-once.ts'
import type { SignInChallenges } from './sign-in-challenges.ts'
import { type UsePasskeyNeeds, usePasskey } from './use-passkey.ts'

interface Needs extends CompleteLoginNeeds, UsePasskeyNeeds {
  users: UserStore
}

/** Makes the challenge of a sign-in by a passkey. */
export class BeginPasskeyLogin {
  readonly #challenges: SignInChallenges
  readonly #rpId: string | null
  constructor({ signInChallenges, passkeys }: Pick<UsePasskeyNeeds, 'signInChallenges' | 'passkeys'>) {
    this.#challenges = signInChallenges
    this.#rpId = passkeys.rpId
  }

  /** @param input.browser a secret that only this browser sends; `null` binds the challenge to none */
  execute({ browser }: { browser: string | null }): { challenge: string; rpId: string } {
    if (this.#rpId === null) throw new Refusal('PASSKEYS_NOT_AVAILABLE')
    return { challenge: this.#challenges.open(browser), rpId: this.#rpId }
  }
}

/** Logs in the user that a passkey names. It counts as both factors, because the authenticator has verified the user. */
export class LogInByPasskey {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Refuses alike whatever is wrong with the answer, its challenge, its passkey or its user. */
  async execute(input: LoginClient & { response: PasskeyResponse; backend: Backend }): Promise<LoginResult> {
    const { response, backend, browser = null } = input
    const { userHandle } = response.response
    const request = requestFacts(input)
    const { find, isSought } = foundOnce(async () =>
      userHandle == null ? null : await this.#needs.users.findBy(unique.passkey(response.id)),
    )
    const account = async () => {
      const user = isSought() ? await find() : null
      return user && emailKey(user.email)
    }
    const proved = await noting(this.#needs, { account, reason: 'passkey_refused' }, async () => {
      const proved = await usePasskey(this.#needs, { response, browser, findUser: find, ...request })
      if (proved === null) throw new Refusal('PASSKEY_REFUSED')
      return proved
    })
    // Nobody has typed an address or a password, so their refusal would mislead.
    if (!proved.user.isActive)
      throw await noted(this.#needs, { account, reason: 'inactive' }, new Refusal('PASSKEY_REFUSED'))
    return await completeLogin(this.#needs, { ...proved, backend, ...request })
  }
}
