import type { EventHandlers } from '../../application/ports/event-handlers.ts'

/**
 * Calls `first`, then `second`, each if it handles the event and each with the whole time-out. A failure of `first`
 * skips `second` until the retry; after a failure of `second` the retry calls `first` again.
 */
export function combinedHandlers(first: EventHandlers, second: EventHandlers): EventHandlers {
  return {
    handles: (name) => first.handles(name) || second.handles(name),
    async call(call, timeoutSeconds) {
      if (first.handles(call.name)) await first.call(call, timeoutSeconds)
      if (second.handles(call.name)) await second.call(call, timeoutSeconds)
    },
  }
}
