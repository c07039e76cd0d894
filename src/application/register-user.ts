import type { Email } from '../domain/email.ts'
import { happened } from '../domain/events.ts'
import type { UserId } from '../domain/ids.ts'
import { type PasswordPolicy, passwordObjection } from '../domain/password.ts'
import { Refusal } from '../domain/refusal.ts'
import { newUser, type User } from '../domain/user.ts'
import { type OccasionNeeds, occasion } from './occasion.ts'
import type { PasswordHasher } from './ports/password-hasher.ts'
import type { UserStore } from './ports/user-store.ts'

interface Needs extends OccasionNeeds {
  users: UserStore
  hasher: PasswordHasher
  policy: PasswordPolicy
}

/** Creates an account. The password is hashed before anybody looks whether the address is free: equal work. */
export class RegisterUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: { email: Email; password: string; requestId: string }): Promise<User> {
    const { users, hasher, policy, clock, newId } = this.#needs

    const objection = passwordObjection(input.password, input.email, policy)
    if (objection !== null) throw new Refusal('REGISTER_INVALID_PASSWORD', objection)

    const hash = await hasher.hash(input.password)
    const user = newUser(newId() as UserId, input.email, hash, clock()) // safe: `newId` promises a UUID
    const outcome = await users.insert(user, [happened('registered', user, occasion(this.#needs, input.requestId))])
    if (outcome === 'email_taken') throw new Refusal('REGISTER_USER_ALREADY_EXISTS')
    return user
  }
}
