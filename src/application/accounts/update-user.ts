import { type Email, emailKey } from '../../domain/email.ts'
import { happened, type UserChanges } from '../../domain/events.ts'
import { isUserId } from '../../domain/ids.ts'
import { demandEmail, demandFlag, demandText } from '../../domain/invalid-input.ts'
import { type PasswordPolicy, passwordObjection } from '../../domain/password.ts'
import { Refusal } from '../../domain/refusal.ts'
import { endSessions, type User, withPassword } from '../../domain/user.ts'
import type { Change, ChangeUser } from '../change-user.ts'
import { type OccasionNeeds, occasion } from '../event-metadata.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import { type Authenticated, demandAuthenticated, speaksFor } from '../sign-in/authenticate.ts'
import { type FreshLoginNeeds, requireFreshLogin } from '../sign-in/fresh-login.ts'

/** What a user may change of themselves. `undefined`: unchanged. */
export interface OwnChanges {
  readonly email?: Email | undefined
  readonly password?: string | undefined
}

/** What a superuser may change of anybody. */
export interface AnyChanges extends OwnChanges {
  readonly isActive?: boolean | undefined
  readonly isSuperuser?: boolean | undefined
  readonly isVerified?: boolean | undefined
}

interface Needs extends OccasionNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
  hasher: PasswordHasher
  policy: PasswordPolicy
}

type Judge = (fresh: User) => void | Promise<void>

export class UpdateUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** A user changes their own account. */
  async own(input: {
    by: Authenticated
    changes: OwnChanges
    currentPassword?: string | undefined
    requestId: string
  }): Promise<User> {
    const { by, requestId } = input
    demandAuthenticated(by)
    // Field by field: what else a caller's object holds, such as rights, is not for its user to change.
    const { email, password } = demandChanges(input.changes)
    const currentPassword = demandCurrentPassword(input.currentPassword)
    demandText('requestId', requestId)

    const givesAccess = email !== undefined || password !== undefined
    if (givesAccess && currentPassword === undefined) requireFreshLogin(this.#needs, by)
    const verified = await this.#verify(by.user, currentPassword)
    const hash = await this.#hashed({ email, password }, by.user)
    return await this.#change(by.user, { email, password }, hash, by.credential.id, requestId, async (fresh) => {
      await requireAlive(fresh, by)
      requireStill(fresh, verified)
    })
  }

  /**
   * A superuser changes an account, perhaps their own.
   *
   * @param input.currentPassword of whoever asks, not of whom it is about
   */
  async any(input: {
    by: Authenticated
    target: User
    changes: AnyChanges
    currentPassword?: string | undefined
    requestId: string
  }): Promise<User> {
    const { by, target, requestId } = input
    demandAuthenticated(by)
    if (!by.user.isSuperuser) throw new Refusal('FORBIDDEN')
    if (!isUserId(target?.id)) throw new Refusal('NOT_FOUND')
    const changes = demandChanges(input.changes)
    const currentPassword = demandCurrentPassword(input.currentPassword)
    demandText('requestId', requestId)

    if (currentPassword === undefined) requireFreshLogin(this.#needs, by)
    const verified = await this.#verify(by.user, currentPassword)
    const requireRight = async (fresh: User): Promise<void> => {
      await requireAlive(fresh, by)
      requireStill(fresh, verified)
      if (!fresh.isSuperuser) throw new Refusal('FORBIDDEN') // somebody took the right away meanwhile
    }
    const hash = await this.#hashed(changes, target)
    const isOwn = by.user.id === target.id
    if (isOwn) return await this.#change(target, changes, hash, by.credential.id, requestId, requireRight)
    await this.#judgeAgain(by.user, requireRight)
    return await this.#change(target, changes, hash, null, requestId, () => undefined)
  }

  /** Passwords take their time: what was true of who asks is looked at once more. */
  async #judgeAgain({ id }: User, judge: Judge): Promise<void> {
    const { type } = await this.#needs.changeUser.execute(id, async (fresh) => {
      await judge(fresh)
      return { type: 'keep' }
    })
    if (type === 'gone') throw new Refusal('UNAUTHORIZED')
  }

  async #hashed(changes: AnyChanges, user: User): Promise<string | null> {
    this.#requireGoodPassword(changes, user)
    return changes.password === undefined ? null : await this.#needs.hasher.hash(changes.password)
  }

  async #change(
    target: User,
    changes: AnyChanges,
    hash: string | null,
    kept: string | null,
    requestId: string,
    judge: Judge,
  ): Promise<User> {
    const outcome = await this.#needs.changeUser.execute(target.id, async (fresh): Promise<Change> => {
      await judge(fresh)
      this.#requireGoodPassword(changes, fresh)
      const { user, changed } = applied(fresh, changes, { hash, kept, now: this.#needs.clock() })
      if (Object.keys(changed).length === 0) return { type: 'keep' }
      const moved = user.sessions.generation !== fresh.sessions.generation
      const event = {
        ...happened('updated', user, occasion(this.#needs, requestId)),
        changes: changed,
        sessionsEnded: moved,
      }
      return { type: 'replace', user, events: [event] }
    })
    switch (outcome.type) {
      case 'changed':
        return outcome.user
      case 'email_taken':
        throw new Refusal('UPDATE_USER_EMAIL_ALREADY_EXISTS')
      default:
        throw new Refusal('NOT_FOUND')
    }
  }

  /** Answers which password that was; `null` when none is given. */
  async #verify(user: User, currentPassword: string | undefined): Promise<number | null> {
    if (currentPassword === undefined) return null
    const verdict = await this.#needs.hasher.verify(currentPassword, user.passwordHash)
    if (verdict === 'mismatch') throw new Refusal('UPDATE_USER_BAD_CURRENT_PASSWORD')
    return user.passwordVersion
  }

  #requireGoodPassword(changes: AnyChanges, user: User): void {
    if (changes.password === undefined) return
    const objection = passwordObjection(changes.password, changes.email ?? user.email, this.#needs.policy)
    if (objection !== null) throw new Refusal('UPDATE_USER_INVALID_PASSWORD', objection)
  }
}

/** The changes that `given` holds, judged by their form; `null` in a field is the same as nothing. */
function demandChanges(given: AnyChanges): AnyChanges {
  const { isActive, isSuperuser, isVerified } = given
  const email = given.email ?? undefined
  const password = given.password ?? undefined
  if (email !== undefined) demandEmail('email', email)
  if (password !== undefined) demandText('password', password)
  for (const [field, flag] of Object.entries({ isActive, isSuperuser, isVerified })) demandFlag(field, flag)
  return { email, password, isActive, isSuperuser, isVerified }
}

function demandCurrentPassword(given: string | undefined): string | undefined {
  const currentPassword = given ?? undefined
  if (currentPassword !== undefined) demandText('currentPassword', currentPassword)
  return currentPassword
}

/** The password that was verified must not have been changed meanwhile. */
function requireStill(fresh: User, verified: number | null): void {
  if (verified !== null && fresh.passwordVersion !== verified) throw new Refusal('UPDATE_USER_BAD_CURRENT_PASSWORD')
}

/** A credential that was ended meanwhile must not be kept over a new password. */
async function requireAlive(fresh: User, by: Authenticated): Promise<void> {
  if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
}

/** `fresh` with `changes`, and those of them that change something. */
function applied(
  fresh: User,
  changes: AnyChanges,
  { hash, kept, now }: { readonly hash: string | null; readonly kept: string | null; readonly now: Date },
) {
  let user: User = fresh
  const changed: { -readonly [K in keyof UserChanges]: UserChanges[K] } = {}

  if (changes.email !== undefined && changes.email !== fresh.email) {
    const moved = emailKey(changes.email) !== emailKey(fresh.email)
    user = { ...user, email: changes.email }
    if (moved) user = { ...user, isVerified: false, isOwnerProved: false }
    changed.email = changes.email
    changed.previousEmail = fresh.email
  }
  for (const flag of ['isActive', 'isSuperuser', 'isVerified'] as const) {
    user = { ...user, [flag]: changes[flag] ?? user[flag] }
    if (user[flag] !== fresh[flag]) changed[flag] = user[flag]
  }
  if (hash !== null) {
    user = endSessions(withPassword(user, hash), now, kept)
    user = { ...user, isOwnerProved: user.isOwnerProved || user.isVerified }
    changed.password = true
  }
  if (changed.isActive === false) user = endSessions(user, now)
  return { user, changed }
}
