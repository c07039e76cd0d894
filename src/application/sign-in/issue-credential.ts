import { happened } from '../../domain/events.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { type OccasionNeeds, occasion } from '../event-metadata.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'
import type { Backend } from './authenticate.ts'

export interface AdmitNeeds extends OccasionNeeds {
  changeUser: ChangeUser
  eventHandlers: EventHandlers
}

/** A new credential for the very record that was judged, and the event that somebody logged in, where one listens. */
export async function admit(needs: AdmitNeeds, user: User, backend: Backend, requestId: string): Promise<string> {
  const credential = await backend.credentials.issue(user)
  if (needs.eventHandlers.handles('on_after_login')) {
    const event = happened('logged_in', user, occasion(needs, requestId))
    await needs.changeUser.execute(user.id, (fresh) => ({ type: 'replace', user: fresh, events: [event] }))
  }
  return credential
}
