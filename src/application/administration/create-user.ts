import type { Email } from '../../domain/email.ts'
import type { GivenFields } from '../../domain/field-types.ts'
import { doors, noFieldRules } from '../../domain/fields.ts'
import { InvalidInput, Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import { checkAgain } from '../accounts/account-changes.ts'
import { type RegisterNeeds, register } from '../accounts/register-user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type RequestFacts, requestFacts } from '../event-metadata.ts'
import { requireRight } from '../rights.ts'
import { actorOf, type By, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'

interface Needs extends RegisterNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
}

/** A user whom somebody else creates. */
export interface NewAccount extends RequestFacts {
  /** A superuser, or the program or command that decides by itself. */
  readonly by: By
  readonly email: Email
  /** Absent for a user who is invited. */
  readonly password?: string | undefined
  /** Whether the user gets a link to choose the password, which also verifies the address. */
  readonly invite?: boolean | undefined
  /** `true` by default. */
  readonly isActive?: boolean | undefined
  readonly isSuperuser?: boolean | undefined
  readonly isVerified?: boolean | undefined
  /** The values of the fields that the deployer declares. Others are refused. */
  readonly fields?: GivenFields | undefined
}

/**
 * Creates a user by the rules of a registration, with flags and read-only fields. Required fields may be missing: only the user
 * knows them.
 */
export class CreateUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Throws `InvalidInput` if there is neither a password nor an invitation, or both. */
  async execute(input: NewAccount): Promise<User> {
    const { by, password, isActive = true, isSuperuser = false, isVerified = false } = input
    requireRight(this.#needs, by, 'create_account', null)
    requireOneWayIn(input)
    const { fieldRules = noFieldRules } = this.#needs
    const strict = { ...this.#needs, fieldRules: { ...fieldRules, refusesUnknown: true } }
    const { email, fields } = input
    return await register(
      strict,
      { email, password: password ?? null, ...(fields && { fields }), by: actorOf(by), ...requestFacts(input) },
      {
        flags: { isActive, isSuperuser, isVerified },
        door: doors.creation,
        beforeWrite: () => this.#requireStill(by),
      },
    )
  }

  /** Hashing takes time, in which the superuser may have lost the right. */
  async #requireStill(by: By): Promise<void> {
    if (by.type !== undefined) return
    await checkAgain(this.#needs.changeUser, by, async (fresh) => {
      if (!(await speaksFor(fresh, by))) throw new Refusal('UNAUTHORIZED')
      requireRight(this.#needs, { ...by, user: fresh }, 'create_account', null)
    })
  }
}

function requireOneWayIn({ password, invite = false, isActive = true }: NewAccount): void {
  if (invite && password !== undefined) throw new InvalidInput('invite', 'is for a user without a password')
  if (invite && !isActive) throw new InvalidInput('invite', 'is for an active user')
  if (!invite && password === undefined) throw new InvalidInput('password', 'is missing, and the user is not invited')
}
