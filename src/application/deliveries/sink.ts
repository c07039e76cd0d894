import type { AccountEvent, AccountEventType } from '../../domain/events.ts'
import type { UserId } from '../../domain/ids.ts'
import type { SinkName } from '../ports/stores/outbox.ts'

/** A receiver of events with a queue of its own, so that no other sink waits for it. */
export interface Sink {
  /** Names the queue in the store, so it must not change while deliveries wait. */
  readonly name: SinkName
  handles(type: AccountEventType): boolean
  /**
   * Resolves when the sink has the event. It may get an event again, also after it has resolved: then the process died before
   * it recorded the end. Rejects as `EventHandlers.call` does. `Unavailable` also means that a store did not answer before
   * the sink had the event: the attempt does not count, and is repeated after `uncountedSeconds`.
   */
  take(event: AccountEvent, userId: UserId): Promise<void>
}
