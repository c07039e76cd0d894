import { type Email, emailKey } from '../../domain/email.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { CausingRequest } from '../event-metadata.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Backend } from './authenticate.ts'
import { type IssueNeeds, issueCredential } from './issue-credential.ts'

interface Needs extends IssueNeeds {
  users: UserStore
  hasher: PasswordHasher
}

export class LogIn {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Returns a new credential of `backend`. A known credential is never reused (session fixation).
   *
   * @param input.email `null` for a text that is no address; refused after the same work
   */
  async execute(input: CausingRequest & { email: Email | null; password: string; backend: Backend }): Promise<string> {
    const { users, hasher } = this.#needs
    const { email, password, backend, requestId, languages } = input

    const user = email === null ? null : await users.findByEmail(emailKey(email))
    // The password of an inactive user is not compared, so the answer does not confirm it.
    const hash = user?.isActive ? user.passwordHash : null
    const verdict = await hasher.verify(password, hash)
    if (user === null || verdict === 'mismatch') throw new Refusal('LOGIN_BAD_CREDENTIALS')

    if (verdict === 'match_needs_rehash') await this.#rehash(user, password)
    return await issueCredential(this.#needs, { user, backend, requestId, languages })
  }

  /** Writes only if the hash is still the verified one, so a password that was changed meanwhile stays. */
  async #rehash(user: User, password: string): Promise<void> {
    try {
      await this.#needs.users.replace({ ...user, passwordHash: await this.#needs.hasher.hash(password) }, [])
    } catch (fault) {
      if (!(fault instanceof Unavailable)) throw fault // the next login tries again
    }
  }
}
