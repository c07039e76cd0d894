import { accountEvent } from '../../domain/events.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type RequestFacts } from '../event-metadata.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'
import { requireRight } from '../rights.ts'
import { actorOf, type By, speaksFor } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { deletedImport, rememberedDays } from '../transfer/import-marks.ts'
import { checkAgain, forcedBy } from './account-changes.ts'
import { askForObjection, type ObjectionNeeds } from './deletion-objection.ts'

interface Needs extends ObjectionNeeds, FreshLoginNeeds {
  changeUser: ChangeUser
  expiringMarks: Pick<ExpiringMarks, 'add'>
}

/** Removes an account. Its sessions and tokens are invalid at once, and the sink `sessions` removes them. */
export class DeleteUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * @param input.by a superuser, the user itself, or the program or command that decides by itself
   * @param input.isForced a command may delete the last active superuser, too
   */
  async execute(input: RequestFacts & { by: By; target: User; isForced?: boolean }): Promise<void> {
    const { by, target } = input
    requireRight(this.#needs, by, 'delete_account', target)
    await askForObjection(this.#needs, target, input, actorOf(by))
    // The handler takes time, so the right is checked again: here, or on the record of the own account.
    const login = by.type === undefined ? by : null
    const isOwn = login?.user.id === target.id
    const check = async (fresh: User): Promise<void> => {
      if (login === null) return
      if (!(await speaksFor(fresh, login))) throw new Refusal('UNAUTHORIZED')
      requireRight(this.#needs, { ...login, user: fresh }, 'delete_account', target, { isConfirmed: true })
    }
    if (login !== null && !isOwn) await checkAgain(this.#needs.changeUser, login, check)
    const outcome = await this.#needs.changeUser.execute(target.id, async (fresh) => {
      if (isOwn) await check(fresh)
      if (fresh.imported !== null) await this.#rememberDeletion(fresh)
      const metadata = eventMetadata(this.#needs, input, actorOf(by))
      return { type: 'remove', events: [accountEvent('deleted', fresh, metadata)], ...forcedBy(input) }
    })
    if (outcome.type !== 'removed') throw new Refusal('NOT_FOUND')
  }

  /** A later import of the same source must not bring the user back. */
  async #rememberDeletion({ id }: User): Promise<void> {
    const { expiringMarks, clock } = this.#needs
    const until = new Date(clock().getTime() + rememberedDays * 86_400_000)
    for (const mark of [deletedImport(), deletedImport(id)]) await expiringMarks.add(mark, until)
  }
}
