import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import { wireChanges, wireTraits, wireUser } from './handler-arguments.ts'
import { handlerNameOf, questionNames } from './handlers.ts'

/**
 * Writes each event as one line of JSON: `{"event":"on_after_register","user":{…}}`, with `token`, `changes` or `traits` if the
 * handler has one, and `tenant` if there are several. For development: it prints tokens. It does not handle
 * `on_before_delete` and `validate_password`, because it cannot refuse and must not print passwords.
 *
 * @param write gets the line with its newline; the event is delivered when it resolves
 * @param tenant the tenant of the events; `null` for the only one
 */
export function consoleHandlers(write: (line: string) => void | Promise<void>, tenant: string | null): EventHandlers {
  return {
    handles: (type) => !questionNames.includes(handlerNameOf[type]),
    async call({ type, user, token, changes, traits }) {
      const line = {
        event: handlerNameOf[type],
        ...(tenant !== null && { tenant }),
        user: wireUser(user),
        ...(token !== undefined && { token }),
        ...(changes !== undefined && { changes: wireChanges(changes) }),
        ...(traits !== undefined && { traits: wireTraits(traits) }),
      }
      await write(`${JSON.stringify(line)}\n`)
    },
  }
}
