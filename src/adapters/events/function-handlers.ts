import type { EventHandlers, HandlerContext } from '../../application/ports/event-handlers.ts'
import { inTime } from '../../lib/in-time.ts'
import { argumentsOf, type WireChanges, type WireTraits, type WireUser } from './handler-arguments.ts'
import { describe, failureOf, timedOut } from './handler-failure.ts'
import { type HandlerName, handlerNameOf } from './handler-names.ts'

type Awaitable = void | Promise<void>

/**
 * The deployer's handlers, most of them by fastapi-users' names; each is optional. Each event calls its handler at least once, with
 * the same `context.eventId` each time, and again later when it throws or takes too long.
 *
 * `on_before_delete` may refuse: it throws a value with a string `reason`, which the caller reads.
 */
export interface Handlers {
  on_after_register?(user: WireUser, context: HandlerContext): Awaitable
  on_after_update?(user: WireUser, changes: WireChanges, context: HandlerContext): Awaitable
  on_after_request_verify?(user: WireUser, token: string, context: HandlerContext): Awaitable
  on_after_verify?(user: WireUser, context: HandlerContext): Awaitable
  on_after_forgot_password?(user: WireUser, token: string, context: HandlerContext): Awaitable
  on_after_reset_password?(user: WireUser, context: HandlerContext): Awaitable
  on_after_login?(user: WireUser, context: HandlerContext): Awaitable
  on_new_sign_in?(user: WireUser, traits: WireTraits, context: HandlerContext): Awaitable
  on_account_under_attack?(user: WireUser, context: HandlerContext): Awaitable
  on_before_delete?(user: WireUser, context: HandlerContext): Awaitable
  on_after_delete?(user: WireUser, context: HandlerContext): Awaitable
}

/**
 * Handlers that are functions of this process, for programs that embed the service. A time-out ends the wait but not
 * the function, and nothing protects the process from a function that exits or loops.
 */
export function functionHandlers(handlers: Handlers): EventHandlers {
  const handlerOf = (name: HandlerName) =>
    // Safe: `argumentsOf` builds the very arguments that `Handlers` declares for the name.
    handlers[name]?.bind(handlers) as ((...args: readonly unknown[]) => Awaitable) | undefined

  return {
    handles: (type) => typeof handlers[handlerNameOf[type]] === 'function',
    async call(call, timeoutSeconds) {
      const name = handlerNameOf[call.type]
      const run = async () => handlerOf(name)?.(...argumentsOf(call))
      const outcome = await inTime(run(), timeoutSeconds * 1000).catch((error: unknown) => {
        throw failureOf(name, describe(error))
      })
      if (outcome === 'late') throw timedOut(name, timeoutSeconds)
    },
  }
}
