import { accountEvent } from '../../domain/events.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type CausingRequest, eventMetadata, type MetadataNeeds } from '../event-metadata.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'
import type { Backend } from './authenticate.ts'

export interface IssueNeeds extends MetadataNeeds {
  changeUser: ChangeUser
  eventHandlers: EventHandlers
}

interface Login extends CausingRequest {
  /** The exact record whose password or provider account was verified. */
  readonly user: User
  readonly backend: Backend
  /** For sign-in through a provider that demands more than the backend. */
  readonly requiresVerification?: boolean
}

/** Issues a credential if the user may log in through this backend, and writes the login's event if it has a handler. */
export async function issueCredential(needs: IssueNeeds, login: Login): Promise<string> {
  const { user, backend, requiresVerification = false } = login
  if (!user.isActive) throw new Refusal('LOGIN_BAD_CREDENTIALS')
  if ((requiresVerification || backend.requiresVerification) && !user.isVerified) {
    throw new Refusal('LOGIN_USER_NOT_VERIFIED')
  }

  const credential = await backend.credentials.issue(user)
  if (needs.eventHandlers.handles('logged_in')) {
    const event = accountEvent('logged_in', user, eventMetadata(needs, login))
    await needs.changeUser.execute(user.id, (fresh) => ({ type: 'replace', user: fresh, events: [event] }))
  }
  return credential
}
