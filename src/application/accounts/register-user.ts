import { type Actor, nobody } from '../../domain/actor.ts'
import type { Email } from '../../domain/email.ts'
import { type AccountEvent, accountEvent } from '../../domain/events.ts'
import type { GivenFields } from '../../domain/field-types.ts'
import { type Door, doors, newFields, noFieldRules } from '../../domain/fields.ts'
import type { NewId, UserId } from '../../domain/ids.ts'
import type { PasswordPolicy } from '../../domain/password.ts'
import { Refusal } from '../../domain/refusal.ts'
import { newUser, type User } from '../../domain/user.ts'
import { eventMetadata, type RequestFacts } from '../event-metadata.ts'
import { unknownCaller } from '../limits/limits.ts'
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

export interface Registration extends RequestFacts {
  readonly email: Email
  readonly password: string
  /** The values of the fields that the deployer declares. */
  readonly fields?: GivenFields
  /** `nobody` by default: everybody may register. */
  readonly by?: Actor
}

export class RegisterUser {
  readonly #needs: RegisterNeeds
  constructor(needs: RegisterNeeds) {
    this.#needs = needs
  }

  execute(input: Registration): Promise<User> {
    return register(this.#needs, input)
  }
}

/** A registration that may lack the password: then the user is invited to choose one. */
type Creation = Omit<Registration, 'password'> & { readonly password: string | null }

/** The decisions of somebody who creates an account for another person. */
interface Rights {
  readonly flags?: Partial<Pick<User, 'isActive' | 'isSuperuser' | 'isVerified'>>
  /** By default the door of a stranger, because a program may pass on a body. */
  readonly door?: Door
  /** Called after the hash, and may throw. */
  readonly beforeWrite?: () => Promise<void>
}

/** Hashes the password before it knows whether the address is free, so that both cases take the same time. */
export async function register(needs: RegisterNeeds, creation: Creation, rights: Rights = {}): Promise<User> {
  const { users, clock, wakeRelay } = needs
  const { email, password } = creation
  const { flags = {}, door = doors.registration, beforeWrite } = rights
  requireNewAddress(email)
  const values = requireFields(needs, creation.fields, door)
  const fields = newFields(needs.fieldRules ?? noFieldRules, values)
  const { newUserId = needs.newId } = needs
  const bare = newUser(await newUserId(), email, null, clock())
  const isOwnerProved = password !== null && flags.isVerified === true
  const described = { ...bare, ...flags, fields, isOwnerProved }
  const passwordHash = password === null ? null : await hashOf(needs, password, described, creation)
  await beforeWrite?.()
  const user = { ...described, passwordHash }
  const outcome = await users.insert(user, await eventsOf(needs, user, creation))
  if (outcome === 'field_taken') throw new Refusal('REGISTER_FIELD_ALREADY_EXISTS', await takenField(users, user))
  if (outcome === 'email_taken') throw new Refusal('REGISTER_USER_ALREADY_EXISTS')
  wakeRelay?.()
  return user
}

async function hashOf(needs: RegisterNeeds, password: string, user: User, creation: Creation): Promise<string> {
  const { hasher, policy, validatePassword } = needs
  const { caller = unknownCaller, by = nobody } = creation
  const code = 'REGISTER_INVALID_PASSWORD'
  requireGoodPassword(policy, password, user.email, code)
  await validatePassword?.({ password, user, code, by }, creation)
  return await hasher.hash(password, caller.client)
}

async function eventsOf(needs: RegisterNeeds, user: User, creation: Creation): Promise<readonly AccountEvent[]> {
  const { by = nobody } = creation
  if (user.passwordHash !== null) return await registrationEvents(needs, user, creation, by)
  const metadata = () => eventMetadata(needs, creation, by)
  return [accountEvent('registered', user, metadata()), accountEvent('invited', user, metadata())]
}
