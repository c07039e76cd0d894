import type { Actor } from '../../domain/actor.ts'
import { type Email, emailKey } from '../../domain/email.ts'
import { type EventMetadata, newAddressEvent, type UserChanges, updatedEvent } from '../../domain/events.ts'
import { newAddressFact } from '../../domain/one-time-token.ts'
import { type PasswordPolicy, passwordObjection } from '../../domain/password.ts'
import { Refusal } from '../../domain/refusal.ts'
import { endSessions, type User, withPassword } from '../../domain/user.ts'
import type { Change, ChangeUser } from '../change-user.ts'
import { type CausingRequest, eventMetadata, type MetadataNeeds } from '../event-metadata.ts'
import { type Caller, type Limits, unknownCaller } from '../limits/limits.ts'
import { type IssueNeeds, issueToken } from '../one-time-tokens/issue-token.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf, type By, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { requireNewAddress } from './new-address.ts'
import type { ValidatePassword } from './password-validation.ts'

/** The changes that users may make to their own account. `undefined`: unchanged. */
export interface OwnChanges {
  readonly email?: Email | undefined
  readonly password?: string | undefined
}

export interface AnyChanges extends OwnChanges {
  readonly isActive?: boolean | undefined
  readonly isSuperuser?: boolean | undefined
  readonly isVerified?: boolean | undefined
}

interface Needs extends MetadataNeeds, FreshLoginNeeds {
  users: UserStore
  changeUser: ChangeUser
  hasher: PasswordHasher
  limits: Limits
  policy: PasswordPolicy
  /** `undefined`: nobody else is asked about passwords. */
  validatePassword?: ValidatePassword
  /** The needs of the tokens that confirm new addresses; `null` if a new address takes effect at once. */
  newAddressTokens: IssueNeeds | null
}

interface NewAddress {
  readonly email: Email
  /** Whether the user gets a token for it. */
  readonly isSent: boolean
}

interface Update extends CausingRequest {
  readonly by: Actor
  readonly target: User
  readonly changes: AnyChanges
  readonly hash: string | null
  /** The entered address, if new ones need a token; otherwise `null`. Tokens for other addresses become invalid. */
  readonly newAddress: NewAddress | null
  readonly keptSid: string | null
  /** Repeats every check of the update on the current record. */
  readonly check: (fresh: User) => void | Promise<void>
}

const invalidPassword = 'UPDATE_USER_INVALID_PASSWORD'

export class UpdateUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Returns the user as it is now. A new address that a token has to confirm is not yet part of it. */
  async own(
    input: CausingRequest & {
      by: Authenticated
      changes: OwnChanges
      currentPassword?: string | undefined
      caller?: Caller
    },
  ): Promise<User> {
    const { by, currentPassword, requestId, languages, caller = unknownCaller } = input
    const { email, password } = input.changes
    const actor = actorOf(by)
    requireAddress(input.changes, by.user)
    const givesAccess = email !== undefined || password !== undefined
    const isConfirmed = currentPassword !== undefined
    if (givesAccess) requireRight(this.#needs, by, 'change_access', by.user, { isConfirmed })
    const verified = await this.#verify(by.user, currentPassword, { ...caller, requestId })
    // Field by field, because the object of a calling program may hold rights, too.
    const changes = { email, password }
    const newAddress = email === undefined ? null : await this.#entered(email, by.user, { ...caller, requestId })
    const hash = await this.#hash(atOnce({ changes, newAddress }, by.user), by.user, {
      ...caller,
      requestId,
      languages,
      by: actor,
    })
    const check = async (fresh: User): Promise<void> => {
      await requireAlive(fresh, by)
      requireSamePassword(fresh, verified)
    }
    const update = { by: actor, target: by.user, changes, newAddress, hash, requestId, languages }
    return await this.#change({ ...update, keptSid: by.credential.sid, check })
  }

  /**
   * Changes any account.
   *
   * @param input.by a superuser, or the program or command that decides by itself
   * @param input.currentPassword of the superuser
   */
  async any(
    input: CausingRequest & {
      by: By
      target: User
      changes: AnyChanges
      currentPassword?: string | undefined
      caller?: Caller
    },
  ): Promise<User> {
    const { by, target, changes, currentPassword, requestId, languages, caller = unknownCaller } = input
    const actor = actorOf(by)
    if (by.type !== undefined) {
      requireAddress(changes, target)
      const hash = await this.#hash(changes, target, { ...caller, requestId, languages, by: actor })
      const update = { by: actor, target, changes, newAddress: null, hash, requestId, languages }
      return await this.#change({ ...update, keptSid: null, check: () => undefined })
    }
    requireAddress(changes, target)
    requireRight(this.#needs, by, 'change_account', target, { isConfirmed: currentPassword !== undefined })
    const verified = await this.#verify(by.user, currentPassword, { ...caller, requestId })
    const check = async (fresh: User): Promise<void> => {
      await requireAlive(fresh, by)
      requireSamePassword(fresh, verified)
      requireRight(this.#needs, { ...by, user: fresh }, 'change_account', target, { isConfirmed: true })
    }
    const hash = await this.#hash(changes, target, { ...caller, requestId, languages, by: actor })
    const update = { by: actor, target, changes, newAddress: null, hash, requestId, languages }
    if (by.user.id === target.id) {
      return await this.#change({ ...update, keptSid: by.credential.sid, check })
    }
    await this.#checkAgain(by.user, check)
    return await this.#change({ ...update, keptSid: null, check: () => undefined })
  }

  /** Hashing takes time, so the rights of the superuser are checked again after it. */
  async #checkAgain({ id }: User, check: Update['check']): Promise<void> {
    const { type } = await this.#needs.changeUser.execute(id, async (fresh) => {
      await check(fresh)
      return { type: 'keep' }
    })
    if (type === 'gone') throw new Refusal('UNAUTHORIZED')
  }

  async #hash(
    changes: AnyChanges,
    user: User,
    caller: Caller & CausingRequest & { by: Actor },
  ): Promise<string | null> {
    this.#requireGoodPassword(changes, user)
    const { password } = changes
    if (password === undefined) return null
    await this.#needs.validatePassword?.({ password, user, code: invalidPassword, by: caller.by }, caller)
    return await this.#needs.hasher.hash(password, caller.client)
  }

  /**
   * Returns the entered address; `null` if a new one takes effect at once. The refusal reveals whether the address has an
   * account, so the requests of each client are limited.
   */
  async #entered(
    email: Email,
    user: User,
    { client, requestId }: Caller & { requestId: string },
  ): Promise<NewAddress | null> {
    const { users, limits, newAddressTokens } = this.#needs
    const account = emailKey(email)
    // A user who has mistyped the new address may enter the present one again.
    if (account === emailKey(user.email)) return newAddressTokens && { email, isSent: false }
    return await limits.request('tokenRequests', client, async () => {
      if (newAddressTokens === null) return null
      const owner = await users.findByEmail(account)
      // Only the use of the token decides whether the address is free; this refusal tells the user early.
      if (owner !== null && owner.id !== user.id) throw new Refusal('UPDATE_USER_EMAIL_ALREADY_EXISTS')
      const isSent = await limits.maySendToken({ purpose: 'change_email', account, device: null, requestId })
      return { email, isSent }
    })
  }

  /**
   * Stores the token before its event is written. The delivery hands out only a token that it finds, so a user who withdraws
   * the address can be sure that no waiting event brings it back.
   */
  async #putToken(user: User, { email, isSent }: NewAddress, metadata: EventMetadata) {
    const { newAddressTokens } = this.#needs
    if (newAddressTokens === null) return []
    const purpose = 'change_email'
    const fact = newAddressFact(user, email)
    if (isSent && emailKey(email) !== emailKey(user.email)) {
      const { eventId } = metadata
      await issueToken(newAddressTokens, { purpose, user, fact, eventId, isRepeated: false })
      return [newAddressEvent(user, email, metadata)]
    }
    const { tokens } = newAddressTokens
    const token = await tokens.current(purpose, user.id)
    if (token !== null && token.fact !== fact) await tokens.remove(purpose, token.digest)
    return []
  }

  async #change(update: Update): Promise<User> {
    const { target, newAddress, check } = update
    const outcome = await this.#needs.changeUser.execute(target.id, async (fresh): Promise<Change> => {
      await check(fresh)
      const changes = atOnce(update, fresh)
      this.#requireGoodPassword(changes, fresh)
      const { user, changed } = applied(fresh, { ...update, changes }, this.#needs.clock())
      const sessionsEnded = user.sessions.generation !== fresh.sessions.generation
      const metadata = () => eventMetadata(this.#needs, update, update.by)
      const isChanged = Object.keys(changed).length > 0
      const events = isChanged ? [updatedEvent(user, changed, metadata(), { sessionsEnded })] : []
      if (newAddress !== null) events.push(...(await this.#putToken(user, newAddress, metadata())))
      return events.length === 0 ? { type: 'keep' } : { type: 'replace', user, events }
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

  /** Returns the version of the verified password; `null` when none is given. */
  async #verify(
    user: User,
    currentPassword: string | undefined,
    caller: Caller & { readonly requestId: string },
  ): Promise<number | null> {
    if (currentPassword === undefined) return null
    const { limits, hasher } = this.#needs
    const version = await limits.password({ ...caller, account: emailKey(user.email) }, async () => {
      const verdict = await hasher.verify(currentPassword, user.passwordHash, caller.client)
      return verdict === 'mismatch' ? null : user.passwordVersion
    })
    if (version === null) throw new Refusal('UPDATE_USER_BAD_CURRENT_PASSWORD')
    return version
  }

  #requireGoodPassword(changes: AnyChanges, user: User): void {
    if (changes.password === undefined) return
    const objection = passwordObjection(changes.password, changes.email ?? user.email, this.#needs.policy)
    if (objection !== null) throw new Refusal(invalidPassword, objection.reason, { rule: objection.rule })
  }
}

/** A user keeps an address that is refused as a new one. */
function requireAddress({ email }: AnyChanges, user: User): void {
  if (email !== undefined && emailKey(email) !== emailKey(user.email)) requireNewAddress(email)
}

/** Refuses a `current_password` that was changed after its check. */
function requireSamePassword(fresh: User, verified: number | null): void {
  if (verified !== null && fresh.passwordVersion !== verified) throw new Refusal('UPDATE_USER_BAD_CURRENT_PASSWORD')
}

/** Refuses a credential that has ended meanwhile, because the new password would keep its session. */
async function requireAlive(fresh: User, by: Authenticated): Promise<void> {
  if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
}

/** The changes without a new address that a token has to confirm first. */
function atOnce({ changes, newAddress }: Pick<Update, 'changes' | 'newAddress'>, fresh: User): AnyChanges {
  const waits = newAddress !== null && emailKey(newAddress.email) !== emailKey(fresh.email)
  return waits ? { ...changes, email: undefined } : changes
}

/** The updated record, and the fields that really changed. */
function applied(fresh: User, { changes, hash, keptSid }: Update, now: Date) {
  let user: User = fresh
  const changed: { -readonly [K in keyof UserChanges]: UserChanges[K] } = {}

  if (changes.email !== undefined && changes.email !== fresh.email) {
    const isOther = emailKey(changes.email) !== emailKey(fresh.email)
    user = { ...user, email: changes.email }
    if (isOther) user = { ...user, isVerified: false, isOwnerProved: false }
    changed.email = changes.email
    changed.previousEmail = fresh.email
  }
  for (const flag of ['isActive', 'isSuperuser', 'isVerified'] as const) {
    user = { ...user, [flag]: changes[flag] ?? user[flag] }
    if (user[flag] !== fresh[flag]) changed[flag] = user[flag]
  }
  if (hash !== null) {
    user = endSessions(withPassword(user, hash), now, keptSid)
    user = { ...user, isOwnerProved: user.isOwnerProved || user.isVerified }
    changed.password = true
  }
  if (changed.isActive === false) user = endSessions(user, now)
  return { user, changed }
}
