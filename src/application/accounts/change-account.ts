import { doors } from '../../domain/fields.ts'
import type { User } from '../../domain/user.ts'
import { eventMetadata } from '../event-metadata.ts'
import { requireRight } from '../rights.ts'
import { type Authenticated, actorOf } from '../sign-in/authenticate.ts'
import {
  type AnyChanges,
  type ChangeNeeds,
  type ChangeRequest,
  changed,
  changedUser,
  checkAgain,
  forcedBy,
  hashPassword,
  requireAddress,
  requireDeactivation,
  verifyActor,
  writeOf,
} from './account-changes.ts'
import { requireFields } from './own-fields.ts'

/** Changes any account. A new address takes effect at once. */
export class ChangeAccount {
  readonly #needs: ChangeNeeds
  constructor(needs: ChangeNeeds) {
    this.#needs = needs
  }

  /** @param input.by a superuser, or the program or command that decides by itself */
  async execute(input: ChangeRequest & { target: User; changes: AnyChanges }): Promise<User> {
    const { by, target, changes } = input
    requireAddress(changes, target)
    requireDeactivation(changes, this.#needs.clock())
    requireRight(this.#needs, by, 'change_account', target, { isConfirmed: input.currentPassword !== undefined })
    const values = requireFields(this.#needs, changes.fields, doors.anyChange)
    const check = by.type === undefined ? await this.#verify({ ...input, by }) : () => undefined
    const hash = await hashPassword(this.#needs, changes, target, input)

    const own = by.type === undefined && by.user.id === target.id ? by : null
    // Hashing takes time, so the right is checked again after it: here, or on the record of the own account.
    if (by.type === undefined && own === null) await checkAgain(this.#needs.changeUser, by, check)
    const metadata = eventMetadata(this.#needs, input, actorOf(by))
    const prepared = { changes, values, hash, keptSid: own?.credential.sid ?? null, metadata }
    const outcome = await this.#needs.changeUser.execute(target.id, async (fresh) => {
      if (own !== null) await check(fresh)
      return writeOf(changed(this.#needs, fresh, prepared), forcedBy(input))
    })
    return changedUser(outcome)
  }

  /** Returns the check of a fresher record of the superuser. */
  async #verify(request: ChangeRequest<Authenticated> & { target: User }): Promise<(fresh: User) => Promise<void>> {
    const check = await verifyActor(this.#needs, request)
    return async (fresh) => {
      await check(fresh)
      const by = { ...request.by, user: fresh }
      requireRight(this.#needs, by, 'change_account', request.target, { isConfirmed: true })
    }
  }
}
