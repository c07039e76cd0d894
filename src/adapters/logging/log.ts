import { type DestinationStream, type Logger, pino } from 'pino'
import { HandlerFailed } from '../../application/ports/event-handlers.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { scrub } from '../../domain/scrub.ts'
import { sourceFrame } from './source-frame.ts'

export type { Logger }

/** Writes one line of JSON per entry on standard error; standard output is for events. */
export function createLog({ level }: { readonly level: string }, to?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (err: unknown) => describe(err) },
    },
    to ?? standardError(),
  )
}

/** The limit of unread lines. Further lines are dropped, so that a stopped reader does not fill our memory. */
const mostWaitingBytes = 16 * 1024 * 1024

const ignored = (): void => undefined

/** A pipe without room does not block: Node keeps the lines. A closed pipe or a full disk does not end the process. */
function standardError(): DestinationStream {
  const { stderr } = process
  if (!stderr.listeners('error').includes(ignored)) stderr.on('error', ignored)
  return {
    write(line) {
      if (stderr.writableLength < mostWaitingBytes) stderr.write(line)
    },
  }
}

/**
 * The fields of a fault and its causes that an operator needs. Messages of drivers quote keys and addresses, so words
 * that look like an address, credentials of a URL or a token are left out.
 */
function describe(thrown: unknown, tellsFrames = true): object {
  if (!(thrown instanceof Error)) return { type: typeof thrown }
  // The message of a handler's error may contain data of users.
  if (thrown instanceof HandlerFailed) return { type: thrown.name, where: thrown.where }
  const { name, message, cause } = thrown
  const code: unknown = 'code' in thrown ? thrown.code : undefined
  // An outage or an overload is not a bug, and may occur thousands of times per second.
  const hasFrames = tellsFrames && !(thrown instanceof Unavailable)
  const frames = !hasFrames ? undefined : thrown.stack?.split('\n').filter((line) => /^\s+at /.test(line))
  return {
    type: name,
    message: scrub(message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(frames !== undefined && { stack: frames.slice(0, 8).map((line) => sourceFrame(line.trim())) }),
    ...(cause !== undefined && { cause: describe(cause, hasFrames) }),
  }
}
