import type { Actor } from '../domain/actor.ts'
import type { EventMetadata } from '../domain/events.ts'
import type { EventId } from '../domain/ids.ts'

export interface MetadataNeeds {
  readonly clock: () => Date
  /** A new UUID, version 7. */
  readonly newId: () => EventId
}

/** The request that causes an event. */
export interface CausingRequest {
  readonly requestId: string
  /** The languages that the client wants, the preferred one first. */
  readonly languages?: readonly string[] | undefined
}

/** The id and time of a new event. */
export function eventMetadata({ clock, newId }: MetadataNeeds, request: CausingRequest, by: Actor): EventMetadata {
  const { requestId, languages = [] } = request
  return { eventId: newId(), at: clock(), requestId, languages, by }
}
