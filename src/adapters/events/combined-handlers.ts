import type { EventHandlers } from '../../application/ports/event-handlers.ts'

/**
 * Calls `first`, then `second`, each where it listens and each with the whole time-out. When `first` fails,
 * `second` waits for the repetition; when `second` fails, the repetition calls `first` again.
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
