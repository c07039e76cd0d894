import { type Email, emailKey, isEmail } from '../../domain/email.ts'
import { demandText } from '../../domain/invalid-input.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Backend } from './authenticate.ts'
import { type AdmitNeeds, admit } from './issue-credential.ts'

interface Needs extends AdmitNeeds {
  users: UserStore
  hasher: PasswordHasher
}

export class LogIn {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * A new credential of `backend`, never a presented one again (session fixation).
   *
   * @param input.email `null` when what was typed is no address: refused after the same work
   */
  async execute(input: {
    email: Email | null
    password: string
    backend: Backend
    requestId: string
  }): Promise<string> {
    const { users, hasher } = this.#needs

    demandText('password', input.password)
    demandText('requestId', input.requestId)

    const user = isEmail(input.email) ? await users.findByEmail(emailKey(input.email)) : null
    // An inactive user is verified against nothing, as an unknown one is: whether the password was right stays unknown.
    const hash = user?.isActive ? user.passwordHash : null
    const verdict = await hasher.verify(input.password, hash)
    if (user === null || verdict === 'mismatch') throw new Refusal('LOGIN_BAD_CREDENTIALS')
    if (input.backend.requiresVerification && !user.isVerified) throw new Refusal('LOGIN_USER_NOT_VERIFIED')

    if (verdict === 'match_needs_rehash') await this.#rehash(user, input.password)
    return await admit(this.#needs, user, input.backend, input.requestId)
  }

  /** One bare `replace` of the very record that was verified: a password changed meanwhile stays changed. */
  async #rehash(user: User, password: string): Promise<void> {
    try {
      await this.#needs.users.replace({ ...user, passwordHash: await this.#needs.hasher.hash(password) }, [])
    } catch (fault) {
      if (!(fault instanceof Unavailable)) throw fault // the next login tries again
    }
  }
}
