import { type Email, type EmailKey, emailKey } from '../../domain/email.ts'
import { LimitReached, Refusal, Unavailable } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { CausingRequest } from '../event-metadata.ts'
import { type Limits, unknownCaller } from '../limits/limits.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Backend } from './authenticate.ts'
import { type CompleteLoginNeeds, completeLogin, type LoginClient, type LoginResult } from './complete-login.ts'

interface Needs extends CompleteLoginNeeds {
  users: UserStore
  hasher: PasswordHasher
  limits: Limits
}

export class LogIn {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Issues a new credential of `backend`. A known credential is never reused (session fixation).
   *
   * @param input.email `null` for a text that is no address; refused after the same work
   */
  async execute(
    input: CausingRequest & LoginClient & { email: Email | null; password: string; backend: Backend },
  ): Promise<LoginResult> {
    const { email, password, backend, caller, traits, requestId, languages } = input
    const { client, device } = caller ?? unknownCaller
    const account = email === null ? null : emailKey(email)

    const verified = await this.#needs.limits.password({ client, device, account, requestId }, () =>
      this.#verify(account, password, client),
    )
    if (verified === null) throw new Refusal('LOGIN_BAD_CREDENTIALS')
    const { user, needsRehash } = verified
    if (needsRehash) await this.#rehash(user, password, client)
    return await completeLogin(this.#needs, { user, backend, methods: ['pwd'], caller, traits, requestId, languages })
  }

  async #verify(account: EmailKey | null, password: string, client: string | null) {
    const { users, hasher } = this.#needs
    const user = account === null ? null : await users.findByEmail(account)
    // The password of an inactive user is not compared, so the answer does not confirm it.
    const hash = user?.isActive ? user.passwordHash : null
    const verdict = await hasher.verify(password, hash, client)
    return user === null || verdict === 'mismatch' ? null : { user, needsRehash: verdict === 'match_needs_rehash' }
  }

  /** Writes only if the hash is still the verified one, so a password that was changed meanwhile stays. */
  async #rehash(user: User, password: string, client: string | null): Promise<void> {
    try {
      await this.#needs.users.replace({ ...user, passwordHash: await this.#needs.hasher.hash(password, client) }, [])
    } catch (fault) {
      const isTooMuch = fault instanceof Unavailable || fault instanceof LimitReached
      if (!isTooMuch) throw fault // the next login tries again
    }
  }
}
