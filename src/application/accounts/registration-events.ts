import type { Actor } from '../../domain/actor.ts'
import { emailKey } from '../../domain/email.ts'
import { type AccountEvent, accountEvent } from '../../domain/events.ts'
import type { User } from '../../domain/user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { type Limits, unlimited } from '../limits/limits.ts'

export interface RegistrationNeeds extends MetadataNeeds {
  /** New users get a token that verifies their address; by default they have to ask for it. */
  verifiesNewUsers?: boolean
  /** Limits these tokens; by default nothing does. */
  limits?: Pick<Limits, 'maySendToken'>
}

/** The events that are written together with a new user. Asks the limit before it is known whether the address is free. */
export async function registrationEvents(
  needs: RegistrationNeeds,
  user: User,
  request: RequestFacts,
  by: Actor,
): Promise<readonly AccountEvent[]> {
  const { verifiesNewUsers = false, limits = unlimited } = needs
  const metadata = () => eventMetadata(needs, request, by)
  const events: AccountEvent[] = [accountEvent('registered', user, metadata())]
  if (!verifiesNewUsers || user.isVerified) return events
  const purpose = 'verify_email'
  const { requestId } = request
  const maySend = await limits.maySendToken({ purpose, account: emailKey(user.email), device: null, requestId })
  return maySend ? [...events, accountEvent('verification_requested', user, metadata())] : events
}
