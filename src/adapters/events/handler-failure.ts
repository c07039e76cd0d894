import { HandlerFailed } from '../../application/ports/event-handlers.ts'
import { Refusal } from '../../domain/refusal.ts'
import { type HandlerName, questionNames } from './handlers.ts'

/** A description of a value that a handler threw. Plain data, because it crosses threads. */
export interface Thrown {
  readonly name: string
  readonly message: string
  /** File, line and column of the throw; `null` without a stack. */
  readonly where: string | null
  /** The reason of a refusal; see `refusalIn`. */
  readonly refusal: string | null
}

const maxNameLength = 60

/** Never throws: JavaScript can throw any value, and the fields of an error can have any type. */
export function describe(thrown: unknown): Thrown {
  try {
    const refusal = refusalIn(thrown)
    if (!(thrown instanceof Error)) return { name: 'NotAnError', message: String(thrown), where: null, refusal }
    // The log holds the name but not the message, so the name is reduced to the characters of names of errors.
    const name = String(thrown.name).replace(/[^\w$.-]/g, '_')
    return { name: name.slice(0, maxNameLength), message: messageOf(thrown), where: whereOf(thrown), refusal }
  } catch {
    return { name: 'NotAnError', message: 'the thrown value cannot be read', where: null, refusal: null }
  }
}

/** The message with its cause, because `fetch` says only "fetch failed". The cause may have a code and no message. */
function messageOf({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return String(message)
  const code = 'code' in cause ? cause.code : cause.name
  return `${message}: ${cause.message || code}`
}

export function timedOut(name: HandlerName, seconds: number): HandlerFailed {
  return new HandlerFailed('HandlerTimedOut', `${name} did not end within ${seconds} s`)
}

/** The error that the caller of `name` gets. Only questions may be refused, and the asking use case knows the code. */
export function failureOf(name: HandlerName, thrown: Thrown): Refusal | HandlerFailed {
  if (questionNames.includes(name) && thrown.refusal !== null) return new Refusal('DELETE_USER_REFUSED', thrown.refusal)
  return new HandlerFailed(thrown.name, thrown.message, thrown.where)
}

/** Throws the reason that `validate_password` returned, so that no refusal is taken for consent. */
export function refuseReturned(name: HandlerName, answer: unknown): void {
  if (name === 'validate_password' && typeof answer === 'string') throw { reason: answer }
}

/** A string `reason` of the thrown value; the message of an error named `Refusal` without one. */
function refusalIn(thrown: unknown): string | null {
  if (typeof thrown !== 'object' || thrown === null) return null
  if ('reason' in thrown && typeof thrown.reason === 'string') return thrown.reason
  return thrown instanceof Error && thrown.name === 'Refusal' ? String(thrown.message) : null
}

function whereOf(thrown: Error): string | null {
  const [stack, message] = [String(thrown.stack), String(thrown.message)]
  const frames = message === '' ? stack : stack.slice(stack.indexOf(message) + message.length)
  return /^ +at .*?([^\s/\\()]+:\d+:\d+)\)?$/m.exec(frames)?.[1] ?? null
}
