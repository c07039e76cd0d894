import { accountEvent } from '../../domain/events.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import type { Outbox } from '../ports/stores/outbox.ts'
import { actorOf, type By } from '../sign-in/authenticate.ts'

export interface LookupNeeds extends MetadataNeeds {
  outbox: Outbox
  /** Whether a look-up of one user is an event. Absent: it is none. */
  reportsLookups?: boolean
  /** Called after the write. */
  wakeRelay?: () => void
}

/**
 * Writes the event of a look-up of one user, before its answer. It waits in the queue of the tenant, because a look-up must not
 * make a write of the user stale. Without room for the event there is no answer: throws `Unavailable`.
 */
export async function reportLookup(needs: LookupNeeds, user: User, request: RequestFacts, by: By): Promise<void> {
  const { outbox, reportsLookups = false, wakeRelay } = needs
  if (!reportsLookups) return
  const event = accountEvent('looked_up', user, eventMetadata(needs, request, actorOf(by)))
  if ((await outbox.append([event])) === 'full') throw new Unavailable('too many look-ups wait for their report')
  wakeRelay?.()
}
