import { Unsuitable } from '../adapters/stores/store-backend.ts'
import { SettingsFault } from '../config/settings/schema/fault.ts'
import { variableOf } from '../config/settings/sources/environment.ts'
import { Refusal, type RefusalCode, Unavailable } from '../domain/refusal.ts'
import { scrub } from '../domain/scrub.ts'
import type { ExitCode } from './output.ts'

interface Explained {
  readonly text: string
  readonly code: ExitCode
  readonly warnings: readonly string[]
}

/** Explains to a person why a command ended, without a stack. */
export function explain(thrown: unknown): Explained {
  if (thrown instanceof SettingsFault) {
    const isOfArguments = thrown.faults.every(({ path }) => path.startsWith('--'))
    const text = `wrong ${isOfArguments ? 'arguments' : 'settings'}:\n${thrown.message.replace(/^/gm, '  ')}`
    return { text, code: 2, warnings: thrown.warnings }
  }
  if (thrown instanceof Unsuitable) return { text: thrown.message, code: 2, warnings: [] }
  return { text: inWords(thrown), code: 1, warnings: [] }
}

/** `bind`: one of several processes listens. */
const syscallsOfListening = ['listen', 'bind', 'getaddrinfo']

/** The errors of `listen`, by their codes, worded to follow `http.`, `admin.` or `metrics.`. */
const whyNotListening: Readonly<Record<string, string>> = {
  EADDRINUSE: 'port: another program listens there already',
  EADDRNOTAVAIL: 'host: is no address of this machine',
  ENOTFOUND: 'host: is neither an address nor a host name that this machine can resolve',
  EACCES: 'port: this user may not listen there',
}

/** The refusals without a reason that an operator may meet. */
const whyRefused: Partial<Record<RefusalCode, string>> = {
  REGISTER_USER_ALREADY_EXISTS: 'this address has an account already',
  INVITE_USER_REFUSED:
    'this user has a password or is disabled, so there is no invitation: user reset-link makes a link for a new password',
  LAST_SUPERUSER:
    'this user is the last active superuser: create another one first (superuser create), or add --force to leave none',
}

function inWords(thrown: unknown): string {
  if (thrown instanceof Refusal) return thrown.reason ?? whyRefused[thrown.code] ?? thrown.code
  if (thrown instanceof Unavailable) {
    const why = thrown.cause instanceof Error ? ` (${scrub(thrown.cause.message)})` : ''
    return `cannot be done now: ${thrown.message}${why}`
  }
  if (!(thrown instanceof Error)) return 'failed'
  const isOfListening = 'syscall' in thrown && syscallsOfListening.includes(String(thrown.syscall))
  const why = isOfListening && 'code' in thrown ? whyNotListening[String(thrown.code)] : undefined
  const listener = 'listener' in thrown ? String(thrown.listener) : 'http'
  if (why === undefined) return scrub(thrown.message)
  const isTaken = 'code' in thrown && thrown.code === 'EADDRINUSE'
  const advice = isTaken ? `; set another port by ${variableOf([listener, 'port'])}` : ''
  return `${listener}.${why}${advice} (${scrub(thrown.message)})`
}
