import { endCredential } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type Authenticated, demandAuthenticated } from './authenticate.ts'

/** Ends exactly the credential that authenticated the request, for good and on every replica. */
export class LogOut {
  readonly #changeUser: ChangeUser
  constructor(needs: { changeUser: ChangeUser }) {
    this.#changeUser = needs.changeUser
  }

  async execute(by: Authenticated): Promise<void> {
    demandAuthenticated(by)
    const { user, credential, backend } = by
    const { id, expiresAt } = credential

    const outcome = await backend.credentials.revoke(credential)
    if (outcome === 'ended' && user.sessions.kept !== id) return
    const recordedUntil = outcome === 'remember' ? expiresAt : null
    await this.#changeUser.execute(user.id, (fresh) => ({
      type: 'replace',
      user: endCredential(fresh, id, recordedUntil),
      events: [],
    }))
  }
}
