import type { EventHandlers, HandlerCall } from '../application/ports/event-handlers.ts'
import type { HandlerName } from '../domain/events.ts'

/** Handlers that remember how they were called. */
export interface RecordedHandlers extends EventHandlers {
  /** In order, `token` and all. */
  readonly calls: readonly HandlerCall[]
}

/**
 * Listens to these names, by default to every one, and records each call before it does `act`, which may throw as a
 * handler does.
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
