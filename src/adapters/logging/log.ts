import { type DestinationStream, type Logger, pino } from 'pino'
import { HandlerFailed } from '../../application/ports/event-handlers.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { logLines } from './log-lines.ts'

export type { Logger }

/** One JSON line each on standard error; standard output is for events. */
export function createLog({ level }: { readonly level: string }, to?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (err: unknown) => describe(err) },
    },
    to ?? logLines(),
  )
}

const longestMessage = 300
/** What is cut off before it is looked at cannot be recognised, so more is looked at than is kept. */
const longestRead = 4_000

/**
 * What an operator needs of a fault and its causes. Drivers quote keys and addresses in their messages, so
 * whatever looks like an e-mail address, a URL's credentials or a token is left out.
 */
function describe(thrown: unknown, tellsFrames = true): object {
  if (!(thrown instanceof Error)) return { type: typeof thrown }
  // The words of a deployer's handler are about its users.
  if (thrown instanceof HandlerFailed) return { type: thrown.name, where: thrown.where }
  const { name, message, cause } = thrown
  const code: unknown = 'code' in thrown ? thrown.code : undefined
  // What does not answer, or has too much to do, is no fault of a line of ours; and there may be thousands a second.
  const hasFrames = tellsFrames && !(thrown instanceof Unavailable)
  const frames = !hasFrames ? undefined : thrown.stack?.split('\n').filter((line) => /^\s+at /.test(line))
  return {
    type: name,
    message: scrub(message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(frames !== undefined && { stack: frames.slice(0, 8).map((line) => line.trim()) }),
    ...(cause !== undefined && { cause: describe(cause, hasFrames) }),
  }
}

export function scrub(message: string): string {
  return message
    .slice(0, longestRead)
    .split(/(\s+)/)
    .map((word) => (word.includes('@') ? '[address]' : word.replace(/[\w-]{40,}/g, '[token]')))
    .join('')
    .slice(0, longestMessage)
}
