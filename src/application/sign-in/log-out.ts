import { endCredential } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import type { Authenticated } from './authenticate.ts'

/** Ends exactly the credential of the caller, for good and in every process. */
export class LogOut {
  readonly #changeUser: ChangeUser
  constructor(needs: { changeUser: ChangeUser }) {
    this.#changeUser = needs.changeUser
  }

  async execute({ user, credential, backend }: Authenticated): Promise<void> {
    const { sid, expiresAt } = credential
    const outcome = await backend.credentials.revoke(credential)
    // The user record must forget a login that it keeps, even if the session itself is gone.
    if (outcome === 'ended' && user.sessions.keptSid !== sid) return
    const recordedUntil = outcome === 'remember' ? expiresAt : null
    await this.#changeUser.execute(user.id, (fresh) => ({
      type: 'replace',
      user: endCredential(fresh, sid, recordedUntil),
      events: [],
    }))
  }
}
