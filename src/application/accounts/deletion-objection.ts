import type { Actor } from '../../domain/actor.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import { type User, viewOf } from '../../domain/user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'

export interface ObjectionNeeds extends MetadataNeeds {
  eventHandlers: EventHandlers
  tenant: string
}

const objectionTimeoutSeconds = 2

/** Throws the refusal of the handler that may object to a deletion. */
export async function askForObjection(
  needs: ObjectionNeeds,
  user: User,
  request: RequestFacts,
  by: Actor,
): Promise<void> {
  const { eventHandlers, tenant } = needs
  const type = 'deletion_requested'
  if (!eventHandlers.handles(type)) return
  const context = { ...eventMetadata(needs, request, by), tenant }
  try {
    await eventHandlers.call({ type, user: viewOf(user), context }, objectionTimeoutSeconds)
  } catch (cause) {
    if (cause instanceof Refusal) throw cause
    throw new Unavailable('the handler on_before_delete failed or gave no answer in time', { cause })
  }
}
