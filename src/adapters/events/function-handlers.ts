import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import { inTime } from '../../lib/timers.ts'
import { describe, failureOf, refuseReturned, timedOut } from './handler-failure.ts'
import { allArgumentsOf, type HandlerName, type Handlers, handlerNameOf } from './handlers.ts'

/**
 * Handlers that are functions of this process, for programs that embed the service. A time-out ends the wait but not
 * the function, and nothing protects the process from a function that exits or loops.
 */
export function functionHandlers(handlers: Handlers): EventHandlers {
  const handlerOf = (name: HandlerName) =>
    // Safe: `allArgumentsOf` builds the very arguments that `Handlers` declares for the name.
    handlers[name]?.bind(handlers) as ((...args: readonly unknown[]) => unknown) | undefined

  return {
    handles: (type) => typeof handlers[handlerNameOf(type)] === 'function',
    async call(call, timeoutSeconds) {
      const name = handlerNameOf(call.type)
      const run = async () => refuseReturned(name, await handlerOf(name)?.(...allArgumentsOf(call)))
      const outcome = await inTime(run(), timeoutSeconds * 1000).catch((error: unknown) => {
        throw failureOf(name, describe(error))
      })
      if (outcome === 'late') throw timedOut(name, timeoutSeconds)
    },
  }
}
