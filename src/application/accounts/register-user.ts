import { type Actor, nobody } from '../../domain/actor.ts'
import type { Email } from '../../domain/email.ts'
import type { GivenFields } from '../../domain/field-types.ts'
import { doors, newFields, noFieldRules } from '../../domain/fields.ts'
import type { NewId, UserId } from '../../domain/ids.ts'
import type { PasswordPolicy } from '../../domain/password.ts'
import { Refusal } from '../../domain/refusal.ts'
import { newUser, type User } from '../../domain/user.ts'
import type { CausingRequest } from '../event-metadata.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { takenField } from '../taken-field.ts'
import { requireNewAddress } from './new-address.ts'
import { type FieldNeeds, requireFields } from './own-fields.ts'
import { requireGoodPassword, type ValidatePassword } from './password-validation.ts'
import { type RegistrationNeeds, registrationEvents } from './registration-events.ts'

export interface RegisterNeeds extends RegistrationNeeds, FieldNeeds {
  users: UserStore
  newId: () => NewId
  /** Makes the id of a new user; by default `newId` does. */
  newUserId?: () => Promise<UserId>
  hasher: PasswordHasher
  policy: PasswordPolicy
  /** `undefined`: nobody else is asked about passwords. */
  validatePassword?: ValidatePassword
  /** Called after the write, so that the event need not wait for the next poll of the relay. Must not throw. */
  wakeRelay?: () => void
}

export interface Registration extends CausingRequest {
  readonly email: Email
  readonly password: string
  /** The values of the fields that the deployer declares. */
  readonly fields?: GivenFields
  /** The client, for its fair share of the hash pool; `null` if unknown. */
  readonly client?: string | null
  /** `nobody` by default: everybody may register. */
  readonly by?: Actor
}

export class RegisterUser {
  readonly #needs: RegisterNeeds
  constructor(needs: RegisterNeeds) {
    this.#needs = needs
  }

  execute(input: Registration): Promise<User> {
    return register(this.#needs, input, {})
  }
}

/** Hashes the password before it knows whether the address is free, so that both cases take the same time. */
export async function register(
  needs: RegisterNeeds,
  registration: Registration,
  rights: Partial<Pick<User, 'isSuperuser' | 'isVerified'>>,
): Promise<User> {
  const { users, hasher, policy, validatePassword, clock, wakeRelay } = needs
  const { email, password, client = null, by = nobody } = registration
  requireNewAddress(email)
  // A program may pass on the body of a stranger, so it writes read-only fields by `ChangeAccount` alone.
  const isByOperator = rights.isSuperuser === true
  const door = { ...doors.registration, isTrusted: isByOperator, demandsRequired: !isByOperator }
  const values = requireFields(needs, registration.fields, door)
  const fields = newFields(needs.fieldRules ?? noFieldRules, values)
  const code = 'REGISTER_INVALID_PASSWORD'
  requireGoodPassword(policy, password, email, code)
  const { newUserId = needs.newId } = needs
  const bare = newUser(await newUserId(), email, null, clock())
  const described = { ...bare, ...rights, fields, isOwnerProved: rights.isVerified === true }
  await validatePassword?.({ password, user: described, code, by }, registration)

  const user = { ...described, passwordHash: await hasher.hash(password, client) }
  const outcome = await users.insert(user, await registrationEvents(needs, user, registration, by))
  if (outcome === 'field_taken') throw new Refusal('REGISTER_FIELD_ALREADY_EXISTS', await takenField(users, user))
  if (outcome === 'email_taken') throw new Refusal('REGISTER_USER_ALREADY_EXISTS')
  wakeRelay?.()
  return user
}
