import { emailKey } from '../../domain/email.ts'
import { doors } from '../../domain/fields.ts'
import type { User } from '../../domain/user.ts'
import { eventMetadata } from '../event-metadata.ts'
import { unknownCaller } from '../limits/limits.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf } from '../sign-in/authenticate.ts'
import {
  type ChangeNeeds,
  type ChangeRequest,
  changed,
  changedUser,
  hashPassword,
  type OwnChanges,
  requireAddress,
  verifyActor,
  writeOf,
} from './account-changes.ts'
import { requireFields } from './own-fields.ts'
import { type EnteredAddress, enterAddress, type NewAddressNeeds, requestNewAddress } from './request-new-address.ts'

/** Changes the account of the acting user. */
export class ChangeOwnAccount {
  readonly #needs: ChangeNeeds & NewAddressNeeds
  constructor(needs: ChangeNeeds & NewAddressNeeds) {
    this.#needs = needs
  }

  /** Returns the user as it is now. A new address that a token has to confirm is not yet part of it. */
  async execute(input: ChangeRequest<Authenticated> & { changes: OwnChanges }): Promise<User> {
    const { by, currentPassword, requestId, caller = unknownCaller } = input
    // Field by field, because the object of a calling program may hold rights, too.
    const { email, password } = input.changes
    const changes = { email, password }
    // A superuser, too, writes read-only fields by `ChangeAccount` alone.
    const values = requireFields(this.#needs, input.changes.fields, doors.ownChange)
    requireAddress(changes, by.user)
    if (email !== undefined || password !== undefined) {
      requireRight(this.#needs, by, 'change_access', by.user, { isConfirmed: currentPassword !== undefined })
    }
    const check = await verifyActor(this.#needs, input)
    const entered =
      email === undefined ? null : await enterAddress(this.#needs, email, by.user, { ...caller, requestId })
    const hash = await hashPassword(this.#needs, atOnce(changes, entered, by.user), by.user, input)

    const metadata = () => eventMetadata(this.#needs, input, actorOf(by))
    const prepared = { values, hash, keptSid: by.credential.sid, metadata: metadata() }
    const change = async (fresh: User) => {
      await check(fresh)
      return changed(this.#needs, fresh, { ...prepared, changes: atOnce(changes, entered, fresh) })
    }
    const { changeUser, newAddressTokens } = this.#needs
    if (entered !== null && newAddressTokens !== null) {
      const needs = { ...this.#needs, ...newAddressTokens }
      return changedUser(await requestNewAddress(needs, by.user.id, entered, change, metadata()))
    }
    return changedUser(await changeUser.execute(by.user.id, async (fresh) => writeOf(await change(fresh))))
  }
}

/** The changes without a new address that a token has to confirm first. */
function atOnce(changes: OwnChanges, entered: EnteredAddress | null, { email }: User): OwnChanges {
  const waits = entered !== null && emailKey(entered.email) !== emailKey(email)
  return waits ? { ...changes, email: undefined } : changes
}
