import { type Email, type EmailKey, emailKey } from '../../domain/email.ts'
import { loginNameKey } from '../../domain/login-name.ts'
import { LimitReached, Refusal, Unavailable } from '../../domain/refusal.ts'
import type { RefusedReason } from '../../domain/refused-login.ts'
import { keepingImport, type User } from '../../domain/user.ts'
import { unique } from '../../domain/user-record.ts'
import { requestFacts } from '../event-metadata.ts'
import { noted, noting } from '../explain/note-refused.ts'
import { type Limits, type PasswordAttempt, unknownCaller } from '../limits/limits.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Backend } from './authenticate.ts'
import { type CompleteLoginNeeds, completeLogin, type LoginClient, type LoginResult } from './complete-login.ts'
import { foundOnce } from './found-once.ts'
import { type NoticeNeeds, TellInactive } from './tell-inactive.ts'

interface Needs extends CompleteLoginNeeds {
  users: UserStore
  hasher: PasswordHasher
  limits: Limits
  /** Absent where the owners of deactivated accounts are not told. */
  inactiveNotices?: NoticeNeeds
}

/** The text that names an account at a login. */
export interface LoginNames {
  readonly email: Email | null
  readonly name?: string | null
}

type Rehashed = Exclude<Awaited<ReturnType<PasswordHasher['verify']>>, 'match' | 'mismatch'>

/** The account that a login names. */
interface Named extends Pick<PasswordAttempt, 'account'> {
  /** Reads the user once. */
  find(): Promise<User | null>
  /** The account for a note; `null` if nobody has looked for it yet. */
  known(): Promise<EmailKey | null>
}

export class LogIn {
  readonly #needs: Needs
  readonly #tellInactive: TellInactive | null
  constructor(needs: Needs) {
    this.#needs = needs
    const { inactiveNotices } = needs
    this.#tellInactive = inactiveNotices === undefined ? null : new TellInactive({ ...needs, ...inactiveNotices })
  }

  /**
   * Issues a new credential of `backend`. A known credential is never reused (session fixation).
   *
   * @param input.email `null` for a text that is no address. It is refused after the same work.
   * @param input.name The typed text. It may be a login name of the backend if it is no address.
   * @param input.asksFactor Whether to ask for the second factor in a trusted browser, too.
   */
  async execute(
    input: LoginClient & LoginNames & { password: string; backend: Backend; asksFactor?: boolean },
  ): Promise<LoginResult> {
    const { password, backend, browser, asksFactor } = input
    const request = requestFacts(input)
    const { client, device } = request.caller ?? unknownCaller
    const { account, find, known } = this.#named(input)

    const verified = await noting(this.#needs, { account: known, reason: null }, async () => {
      const attempt = { client, device, account, requestId: request.requestId }
      const verified = await this.#needs.limits.password(attempt, async () => {
        const user = await find()
        const verified = await this.#verify(user, password, client)
        if (user?.isActive === false) this.#tellInactive?.execute({ user, password, ...request })
        return verified
      })
      if (verified !== null && verified.verdict !== 'match') {
        await this.#rehash(verified.user, password, client, verified.verdict)
      }
      return verified
    })
    if (verified === null) {
      const refused = { account: known, reason: reasonOf(await find()) }
      throw await noted(this.#needs, refused, new Refusal('LOGIN_BAD_CREDENTIALS'))
    }
    const login = { user: verified.user, backend, methods: ['pwd'], browser, asksFactor, ...request }
    return await completeLogin(this.#needs, login)
  }

  /** The user of an address is read within all limits. A login name is read before those of the account. Each is read once. */
  #named({ email, name, backend }: LoginNames & { backend: Backend }): Named {
    const { users } = this.#needs
    if (email !== null) {
      const account = emailKey(email)
      return { account, ...foundOnce(() => users.findBy(unique.email(account))), known: async () => account }
    }
    const { loginField = null } = backend
    const key = loginField === null || name == null ? null : loginNameKey(name)
    if (loginField === null || key === null) return { account: null, find: async () => null, known: async () => null }
    const { find, isSought } = foundOnce(() => users.findBy(unique.field(loginField, key)))
    const account = async () => {
      const user = await find()
      return user === null ? key : emailKey(user.email)
    }
    return { account, find, known: async () => (isSought() ? await account() : null) }
  }

  async #verify(user: User | null, password: string, client: string | null) {
    const { hasher } = this.#needs
    // The password of an inactive user is not compared, so the answer does not confirm it.
    const hash = user?.isActive ? user.passwordHash : null
    const verdict = await hasher.verify(password, hash, client)
    return user === null || verdict === 'mismatch' ? null : { user, verdict }
  }

  /**
   * Writes only if the hash is still the verified one, so a password that was changed meanwhile stays. It keeps the spelling that
   * matched: the system before may get the user back.
   */
  async #rehash(user: User, password: string, client: string | null, verdict: Rehashed): Promise<void> {
    try {
      const spelling = verdict === 'typed_needs_rehash' ? 'typed' : 'nfc'
      const passwordHash = await this.#needs.hasher.hash(password, client, spelling)
      await this.#needs.users.replace(keepingImport(user, { ...user, passwordHash }), [])
    } catch (fault) {
      const isTooMuch = fault instanceof Unavailable || fault instanceof LimitReached
      if (!isTooMuch) throw fault // the next login tries again
    }
  }
}

/** The reason if the password does not let the user in. */
function reasonOf(user: User | null): RefusedReason {
  if (user === null) return 'unknown_address'
  if (!user.isActive) return 'inactive'
  return user.passwordHash === null ? 'no_password' : 'wrong_password'
}
