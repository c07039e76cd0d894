import type { EventHandlers, HandlerCall, HandlerCallType } from '../application/ports/event-handlers.ts'
import type { UserChanges } from '../domain/events.ts'

/** A call whose own data can be read without a look at its type. */
export type RecordedCall = HandlerCall & {
  readonly token?: string
  readonly password?: string
  readonly changes?: UserChanges
}

/** Handlers that record their calls. */
export interface RecordedHandlers extends EventHandlers {
  /** All calls in order, with their tokens. */
  readonly calls: readonly RecordedCall[]
}

/**
 * Handles calls of these types, by default of every type. Records each call and then runs `act`, which may throw as a handler does.
 */
export function recordedHandlers(
  act: (call: RecordedCall) => void | Promise<void> = () => undefined,
  types: readonly HandlerCallType[] | 'all' = 'all',
): RecordedHandlers {
  const calls: RecordedCall[] = []
  return {
    calls,
    handles: (type) => types === 'all' || types.includes(type),
    async call(call) {
      calls.push(call)
      await act(call)
    },
  }
}
