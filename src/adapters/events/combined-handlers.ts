import type { EventHandlers } from '../../application/ports/event-handlers.ts'

/**
 * Calls `first`, then `second`, each if it handles the event and each with the whole time-out. A failure of `first`
 * skips `second` until the retry; after a failure of `second` the retry calls `first` again.
 */
export function combinedHandlers(first: EventHandlers, second: EventHandlers): EventHandlers {
  return {
    handles: (type) => first.handles(type) || second.handles(type),
    async call(call, timeoutSeconds) {
      if (first.handles(call.type)) await first.call(call, timeoutSeconds)
      if (second.handles(call.type)) await second.call(call, timeoutSeconds)
    },
  }
}
