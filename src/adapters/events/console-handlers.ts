import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import { argumentsOf, handlerNameOf, questionNames } from './handlers.ts'

/**
 * Writes each event as one line of JSON: `{"event":"on_after_register","user":{…}}`, with all arguments of the handler, and
 * `tenant` if there are several. For development: it prints tokens. It does not handle
 * `on_before_delete` and `validate_password`, because it cannot refuse and must not print passwords.
 *
 * @param write gets the line with its newline; the event is delivered when it resolves
 * @param tenant the tenant of the events; `null` for the only one
 */
export function consoleHandlers(write: (line: string) => void | Promise<void>, tenant: string | null): EventHandlers {
  return {
    handles: (type) => !questionNames.includes(handlerNameOf(type)),
    async call(call) {
      const line = { event: handlerNameOf(call.type), ...(tenant !== null && { tenant }), ...argumentsOf(call) }
      await write(`${JSON.stringify(line)}\n`)
    },
  }
}
