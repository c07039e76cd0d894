import type { EventHandlers, HandlerCall, HandlerCallType } from '../application/ports/event-handlers.ts'

/** Handlers that record their calls. */
export interface RecordedHandlers extends EventHandlers {
  /** All calls in order, with their tokens. */
  readonly calls: readonly HandlerCall[]
}

/**
 * Handles calls of these types, by default of every type. Records each call and then runs `act`, which may throw as a handler does.
 */
export function recordedHandlers(
  act: (call: HandlerCall) => void | Promise<void> = () => undefined,
  types: readonly HandlerCallType[] | 'all' = 'all',
): RecordedHandlers {
  const calls: HandlerCall[] = []
  return {
    calls,
    handles: (type) => types === 'all' || types.includes(type),
    async call(call) {
      calls.push(call)
      await act(call)
    },
  }
}
