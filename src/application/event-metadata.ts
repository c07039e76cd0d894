import type { Actor } from '../domain/actor.ts'
import type { EventMetadata } from '../domain/events.ts'
import type { EventId } from '../domain/ids.ts'
import type { ClientTraits } from '../domain/session.ts'
import type { Caller } from './limits/limits.ts'

export interface MetadataNeeds {
  readonly clock: () => Date
  /** A new UUID, version 7. */
  readonly newId: () => EventId
}

/** Everything that a use case knows of its request. */
export interface RequestFacts {
  readonly requestId: string
  /** The languages that the client wants, the preferred one first. */
  readonly languages?: readonly string[] | undefined
  /** For the limits; by default, no counter of clients applies. */
  readonly caller?: Caller | undefined
  /** For sessions and notices. */
  readonly traits?: ClientTraits | undefined
}

/** The facts of a request by HTTP. */
export type KnownFacts = { readonly [Fact in keyof RequestFacts]-?: NonNullable<RequestFacts[Fact]> }

/** The facts alone, without the other members of an input. */
export function requestFacts({ requestId, languages, caller, traits }: RequestFacts): RequestFacts {
  return { requestId, languages, caller, traits }
}

/** The id and time of a new event. */
export function eventMetadata({ clock, newId }: MetadataNeeds, request: RequestFacts, by: Actor): EventMetadata {
  const { requestId, languages = [] } = request
  return { eventId: newId(), at: clock(), requestId, languages, by }
}
