import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import { wireChanges, wireUser } from './handler-arguments.ts'

/**
 * Writes each event as one line of JSON: `{"event":"on_after_register","user":{…}}`, with `token` or `changes`
 * where the handler has one, and `tenant` where there are several. For development: it prints tokens. Nobody can refuse anything here, so
 * `on_before_delete` is not handled.
 *
 * @param write gets the line with its newline; the event is delivered when it is done
 * @param tenant the one whose events these are; `null` for the only one
 */
export function consoleHandlers(
  write: (line: string) => void | Promise<void>,
  tenant: string | null = null,
): EventHandlers {
  return {
    handles: (name) => name !== 'on_before_delete',
    async call({ name, user, token, changes }) {
      const line = {
        event: name,
        ...(tenant !== null && { tenant }),
        user: wireUser(user),
        ...(token !== undefined && { token }),
        ...(changes !== undefined && { changes: wireChanges(changes) }),
      }
      await write(`${JSON.stringify(line)}\n`)
    },
  }
}

/** Prints a line on standard output. Rejects when nobody can read it: the event is delivered again later. */
export function printLine(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(line, (error) => (error ? reject(error) : resolve()))
  })
}
