import type { EventHandlers, HandlerCall } from '../application/ports/event-handlers.ts'
import type { HandlerName } from '../domain/events.ts'

/** Handlers that record their calls. */
export interface RecordedHandlers extends EventHandlers {
  /** All calls in order, with their tokens. */
  readonly calls: readonly HandlerCall[]
}

/**
 * Handles these names, by default every one. Records each call and then runs `act`, which may throw as a handler does.
 */
export function recordedHandlers(
  act: (call: HandlerCall) => void | Promise<void> = () => undefined,
  names: readonly HandlerName[] | 'all' = 'all',
): RecordedHandlers {
  const calls: HandlerCall[] = []
  return {
    calls,
    handles: (name) => names === 'all' || names.includes(name),
    async call(call) {
      calls.push(call)
      await act(call)
    },
  }
}
