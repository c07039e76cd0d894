import { type Email, emailKey } from '../domain/email.ts'
import { happened, type UserChanges } from '../domain/events.ts'
import type { UserId } from '../domain/ids.ts'
import { type PasswordPolicy, passwordObjection } from '../domain/password.ts'
import { Refusal } from '../domain/refusal.ts'
import { newUser, type User } from '../domain/user.ts'
import type { ChangeUser } from './change-user.ts'
import { type OccasionNeeds, occasion } from './occasion.ts'
import type { PasswordHasher } from './ports/password-hasher.ts'
import type { UserStore } from './ports/user-store.ts'

interface Needs extends OccasionNeeds {
  users: UserStore
  changeUser: ChangeUser
  hasher: PasswordHasher
  policy: PasswordPolicy
}

/** How a deployment gets its first superuser: by whoever has the storage, never over HTTP. */
export class CreateSuperuser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: { email: Email; password: string; requestId: string }): Promise<User> {
    const { users, hasher, policy, clock, newId } = this.#needs

    const objection = passwordObjection(input.password, input.email, policy)
    if (objection !== null) throw new Refusal('REGISTER_INVALID_PASSWORD', objection)

    const hash = await hasher.hash(input.password)
    const user = {
      ...newUser(newId() as UserId, input.email, hash, clock()), // safe: `newId` promises a UUID
      isSuperuser: true,
      isVerified: true,
    }
    const outcome = await users.insert(user, [happened('registered', user, occasion(this.#needs, input.requestId))])
    if (outcome === 'email_taken') throw new Refusal('REGISTER_USER_ALREADY_EXISTS')
    return user
  }

  /** Makes whoever has the address an active, verified superuser; `null` when nobody has it. */
  async promote(input: { email: Email; requestId: string }): Promise<User | null> {
    const { users, changeUser } = this.#needs
    const found = await users.findByEmail(emailKey(input.email))
    if (found === null) return null

    const changes: UserChanges = { isActive: true, isSuperuser: true, isVerified: true }
    const outcome = await changeUser.execute(found.id, (user) => {
      if (user.isActive && user.isSuperuser && user.isVerified) return { type: 'keep' }
      const promoted: User = { ...user, isActive: true, isSuperuser: true, isVerified: true }
      const event = happened('updated', promoted, occasion(this.#needs, input.requestId))
      return { type: 'replace', user: promoted, events: [{ ...event, changes, sessionsEnded: null }] }
    })
    return outcome.type === 'changed' ? outcome.user : null
  }
}
