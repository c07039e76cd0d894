import { type Email, emailKey } from '../../domain/email.ts'
import { type AccountEvent, type EventMetadata, type UserChanges, updatedEvent } from '../../domain/events.ts'
import type { FieldValues } from '../../domain/field.ts'
import type { GivenFields } from '../../domain/field-types.ts'
import { noFieldRules, type UserFields, withValues } from '../../domain/fields.ts'
import type { PasswordPolicy } from '../../domain/password.ts'
import { InvalidInput, Refusal } from '../../domain/refusal.ts'
import { activated, endSessions, type User, withPassword } from '../../domain/user.ts'
import type { Change, ChangeOutcome, ChangeUser } from '../change-user.ts'
import type { MetadataNeeds, RequestFacts } from '../event-metadata.ts'
import { type Limits, unknownCaller } from '../limits/limits.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import type { WriteOptions } from '../ports/stores/user-store.ts'
import { type Authenticated, actorOf, type By, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { requireNewAddress } from './new-address.ts'
import type { FieldNeeds } from './own-fields.ts'
import { requireGoodPassword, type ValidatePassword } from './password-validation.ts'

/** The changes that users may make to their own account. `undefined`: unchanged. */
export interface OwnChanges {
  readonly email?: Email | undefined
  readonly password?: string | undefined
  /** New values of the fields that the deployer declares. `null` takes a value away. */
  readonly fields?: GivenFields | undefined
}

export interface AnyChanges extends OwnChanges {
  readonly isActive?: boolean | undefined
  /** With `isActive: false`: when the user becomes active again, in the future. Otherwise the deactivation has no end. */
  readonly until?: Date | undefined
  /** With `isActive: false`: why, for those who manage users. The user does not see it. */
  readonly reason?: string | undefined
  readonly isSuperuser?: boolean | undefined
  readonly isVerified?: boolean | undefined
}

export interface ChangeNeeds extends MetadataNeeds, FreshLoginNeeds, FieldNeeds {
  changeUser: ChangeUser
  hasher: PasswordHasher
  limits: Limits
  policy: PasswordPolicy
  /** `undefined`: nobody else is asked about passwords. */
  validatePassword?: ValidatePassword
  /** A change that changes nothing has an event, too; by default it has none. */
  reportsUnchanged?: boolean
}

/** A request for a change. */
export interface ChangeRequest<Login extends By = By> extends RequestFacts {
  readonly by: Login
  /** The password of the acting user, in place of a fresh login. */
  readonly currentPassword?: string | undefined
  /** The change may leave no active superuser. Only for a command, whose operator can make another one. */
  readonly isForced?: boolean
}

/** Everything that a write of changes needs, known before the record is read. */
export interface PreparedChanges {
  readonly changes: AnyChanges
  /** The checked values of `changes.fields`. */
  readonly values: FieldValues
  /** The hash of the new password; `null` if there is none. */
  readonly hash: string | null
  /** The login that a new password keeps. */
  readonly keptSid: string | null
  readonly metadata: EventMetadata
}

const invalidPassword = 'UPDATE_USER_INVALID_PASSWORD'

/** The limit of `reason`, in characters. */
export const maxReasonLength = 500

/** Throws `InvalidInput` for a reason or an end without a deactivation, and for an end that is not in the future. */
export function requireDeactivation({ isActive, reason, until }: AnyChanges, now: Date): void {
  for (const [name, value] of Object.entries({ reason, until })) {
    if (value !== undefined && isActive !== false) throw new InvalidInput(name, 'needs a deactivation: is_active false')
  }
  // Not every store keeps a NUL.
  if (reason !== undefined && (reason.length > maxReasonLength || reason.includes('\0'))) {
    throw new InvalidInput('reason', `has more than ${maxReasonLength} characters, or a NUL`)
  }
  // Later years have more digits, which not every text of a time has room for.
  if (until !== undefined && !(until > now && until.getUTCFullYear() < 10_000)) {
    throw new InvalidInput('until', 'is not in the future, or not before the year 10000')
  }
}

/** A user keeps an address that is refused as a new one. */
export function requireAddress({ email }: OwnChanges, user: User): void {
  if (email !== undefined && emailKey(email) !== emailKey(user.email)) requireNewAddress(email)
}

/**
 * Verifies the given password of the acting user. Returns the check of a fresher record: the login must still be valid, and
 * the password the same, because the change keeps this login.
 */
export async function verifyActor(
  { limits, hasher }: ChangeNeeds,
  { by, currentPassword, caller = unknownCaller, requestId }: ChangeRequest<Authenticated>,
): Promise<(fresh: User) => Promise<void>> {
  const { user } = by
  if (currentPassword !== undefined) {
    const isRight = await limits.password({ ...caller, requestId, account: emailKey(user.email) }, async () => {
      const verdict = await hasher.verify(currentPassword, user.passwordHash, caller.client)
      return verdict === 'mismatch' ? null : true
    })
    if (isRight === null) throw new Refusal('UPDATE_USER_BAD_CURRENT_PASSWORD')
  }
  return async (fresh) => {
    if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
    const isSame = fresh.passwordVersion === user.passwordVersion
    if (currentPassword !== undefined && !isSame) throw new Refusal('UPDATE_USER_BAD_CURRENT_PASSWORD')
  }
}

/** Checks the current record of an acting user whose act changes another account. */
export async function checkAgain(
  changeUser: ChangeUser,
  { user }: Authenticated,
  check: (fresh: User) => void | Promise<void>,
): Promise<void> {
  const { type } = await changeUser.execute(user.id, async (fresh) => {
    await check(fresh)
    return { type: 'keep' }
  })
  if (type === 'gone') throw new Refusal('UNAUTHORIZED')
}

/** Hashes the new password of `user`; `null` if there is none. */
export async function hashPassword(
  needs: ChangeNeeds,
  changes: OwnChanges,
  user: User,
  request: ChangeRequest,
): Promise<string | null> {
  const { password } = changes
  requireGood(needs, changes, user)
  if (password === undefined) return null
  await needs.validatePassword?.({ password, user, code: invalidPassword, by: actorOf(request.by) }, request)
  return await needs.hasher.hash(password, request.caller?.client ?? null)
}

function requireGood({ policy }: Pick<ChangeNeeds, 'policy'>, { password, email }: OwnChanges, user: User): void {
  if (password !== undefined) requireGoodPassword(policy, password, email ?? user.email, invalidPassword)
}

/** A record after a change, with the events of the change. Without events there is nothing to write. */
export interface Changed {
  readonly user: User
  readonly events: readonly AccountEvent[]
}

/** The write of a change. */
export function writeOf({ user, events }: Changed, options: WriteOptions = {}): Change {
  return events.length === 0 ? { type: 'keep' } : { type: 'replace', user, events, ...options }
}

/** Nobody but a command may leave no active superuser. */
export function forcedBy({ by, isForced = false }: Pick<ChangeRequest, 'by' | 'isForced'>): WriteOptions {
  return { mayLeaveNoSuperuser: by.type === 'command' && isForced }
}

/** The changed record, with the event of the fields that really changed. */
export function changed(
  needs: Pick<ChangeNeeds, 'policy' | 'fieldRules' | 'reportsUnchanged'>,
  fresh: User,
  { changes, values, hash, keptSid, metadata }: PreparedChanges,
): Changed {
  requireGood(needs, changes, fresh)
  let user: User = fresh
  const made: { -readonly [K in keyof UserChanges]: UserChanges[K] } = {}

  if (changes.email !== undefined && changes.email !== fresh.email) {
    const isOther = emailKey(changes.email) !== emailKey(fresh.email)
    user = { ...user, email: changes.email }
    if (isOther) user = { ...user, isVerified: false, isOwnerProved: false }
    made.email = changes.email
    made.previousEmail = fresh.email
  }
  for (const flag of ['isActive', 'isSuperuser', 'isVerified'] as const) {
    user = { ...user, [flag]: changes[flag] ?? user[flag] }
    if (user[flag] !== fresh[flag]) made[flag] = user[flag]
  }
  if (user.isActive) user = activated(user)
  else {
    const { reason = fresh.inactiveReason } = changes
    // A new reason is that of a new deactivation, which has no end unless it is given.
    const { until = changes.reason === undefined ? fresh.inactiveUntil : null } = changes
    if (until?.getTime() !== fresh.inactiveUntil?.getTime()) made.inactiveUntil = until?.toISOString() ?? null
    if (reason !== null && reason !== fresh.inactiveReason) made.inactiveReason = reason
    user = { ...user, inactiveUntil: until, inactiveReason: reason }
  }
  const fields = withValues(needs.fieldRules ?? noFieldRules, fresh.fields, values)
  const changedFields = changedValues(values, fresh.fields, fields)
  if (changedFields !== null) {
    user = { ...user, fields }
    made.fields = changedFields
  }
  if (hash !== null) {
    user = endSessions(withPassword(user, hash), metadata.at, keptSid)
    user = { ...user, isOwnerProved: user.isOwnerProved || user.isVerified }
    made.password = true
  }
  if (made.isActive === false) user = endSessions(user, metadata.at)

  if (Object.keys(made).length === 0 && !needs.reportsUnchanged) return { user: fresh, events: [] }
  const sessionsEnded = user.sessions.generation !== fresh.sessions.generation
  return { user, events: [updatedEvent(user, made, metadata, { sessionsEnded })] }
}

/** The values that a change has made, except private ones; `null` if it has changed none. */
function changedValues(values: FieldValues, before: UserFields, after: UserFields): FieldValues | null {
  const differs = (part: 'shown' | 'hidden') => (name: string) =>
    Object.hasOwn(after[part], name) && JSON.stringify(after[part][name]) !== JSON.stringify(before[part][name])
  const names = Object.keys(values)
  const shown = names.filter(differs('shown'))
  if (shown.length === 0 && !names.some(differs('hidden'))) return null
  return Object.fromEntries(shown.map((name) => [name, after.shown[name] ?? null]))
}

/** Returns the user after the change, or throws the refusal. */
export function changedUser(outcome: ChangeOutcome): User {
  switch (outcome.type) {
    case 'changed':
      return outcome.user
    case 'email_taken':
      throw new Refusal('UPDATE_USER_EMAIL_ALREADY_EXISTS')
    case 'field_taken':
      throw new Refusal('UPDATE_USER_FIELD_ALREADY_EXISTS', outcome.field)
    default:
      throw new Refusal('NOT_FOUND')
  }
}
