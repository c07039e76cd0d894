import { type AccountEvent, happened, type LinkChange } from '../../domain/events.ts'
import type { User } from '../../domain/user.ts'
import { type OccasionNeeds, occasion } from '../event-metadata.ts'

/** Reports a link that `user` has got, or has no longer. */
export function linkEvent(
  needs: OccasionNeeds,
  requestId: string,
  user: User,
  change: 'oauthLinked' | 'oauthUnlinked',
  { provider, accountEmail }: LinkChange,
): AccountEvent {
  const changes = { [change]: { provider, accountEmail } }
  return { ...happened('updated', user, occasion(needs, requestId)), changes, sessionsEnded: false }
}
