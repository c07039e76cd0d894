import { endCredential } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type Authenticated, demandAuthenticated } from './authenticate.ts'

/** Ends exactly the credential that authenticated the request, for good and on every replica. */
export class LogOut {
  readonly #needs: { changeUser: ChangeUser; clock: () => Date }
  constructor(needs: { changeUser: ChangeUser; clock: () => Date }) {
    this.#needs = needs
  }

  async execute(by: Authenticated): Promise<void> {
    const { changeUser, clock } = this.#needs
    demandAuthenticated(by)
    const { user, credential, backend } = by
    const { id, expiresAt } = credential

    const outcome = await backend.credentials.revoke(credential)
    if (outcome === 'ended' && user.sessions.kept !== id) return
    await changeUser.execute(user.id, (fresh) => ({
      type: 'replace',
      user: endCredential(fresh, { id, expiresAt }, clock()),
      events: [],
    }))
  }
}
