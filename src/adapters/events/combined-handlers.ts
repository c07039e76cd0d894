import { type EventHandlers, isFinal } from '../../application/ports/event-handlers.ts'

/** The largest number of events for which the successful handlers are remembered. */
const mostRemembered = 1000

/**
 * Calls each of the handlers that handle the event, one after the other, each with the whole time-out. If some fail, a
 * retry in this process calls only these. So a handler that always fails does not make another one send its mail again.
 */
export function combinedHandlers(all: readonly EventHandlers[]): EventHandlers {
  /** The handlers that succeeded, by the id of an event for which others failed. */
  const finished = new Map<string, Set<EventHandlers>>()

  return {
    handles: (type) => all.some((one) => one.handles(type)),
    async call(call, timeoutSeconds) {
      const { eventId } = call.context
      const succeeded = finished.get(eventId) ?? new Set()
      finished.delete(eventId)
      const failures: unknown[] = []
      for (const one of all) {
        if (!one.handles(call.type) || succeeded.has(one)) continue
        await one.call(call, timeoutSeconds).then(
          () => succeeded.add(one),
          (failure: unknown) => failures.push(failure),
        )
      }
      if (failures.length === 0) return
      if (succeeded.size > 0) finished.set(eventId, succeeded)
      for (const oldest of finished.keys()) if (finished.size > mostRemembered) finished.delete(oldest)
      throw failures.find((failure) => !isFinal(failure)) ?? failures[0]
    },
  }
}
