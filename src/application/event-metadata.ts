import type { Occasion } from '../domain/events.ts'
import type { EventId } from '../domain/ids.ts'

export interface OccasionNeeds {
  readonly clock: () => Date
  /** A new UUID, version 7. */
  readonly newId: () => string
}

/** A new event's id and time. The cast is safe: `newId` promises a UUID. */
export function occasion({ clock, newId }: OccasionNeeds, requestId: string): Occasion {
  return { eventId: newId() as EventId, at: clock(), requestId }
}
