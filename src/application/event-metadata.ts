import type { EventMetadata } from '../domain/events.ts'
import type { EventId } from '../domain/ids.ts'

export interface MetadataNeeds {
  readonly clock: () => Date
  /** A new UUID, version 7. */
  readonly newId: () => string
}

/** The id and time of a new event. The cast is safe: `newId` promises a UUID. */
export function eventMetadata({ clock, newId }: MetadataNeeds, requestId: string): EventMetadata {
  return { eventId: newId() as EventId, at: clock(), requestId }
}
