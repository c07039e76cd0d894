import type { Subscribers } from '../../application/ports/subscribers.ts'
import { wireChanges, wireUser } from './wire.ts'

/**
 * Writes each event as one line of JSON: `{"event":"on_after_register","user":{…}}`, with `token` or `changes`
 * where the handler has one. For development: it prints tokens. Nobody can refuse anything here, so
 * `on_before_delete` is not handled.
 *
 * @param write gets the line with its newline; the event is delivered when it is done
 */
export function consoleHandlers(write: (line: string) => void | Promise<void>): Subscribers {
  return {
    handles: (name) => name !== 'on_before_delete',
    async call({ name, user, token, changes }) {
      const line = {
        event: name,
        user: wireUser(user),
        ...(token !== undefined && { token }),
        ...(changes !== undefined && { changes: wireChanges(changes) }),
      }
      await write(`${JSON.stringify(line)}\n`)
    },
  }
}
