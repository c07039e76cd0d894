import { Unsuitable } from '../adapters/stores/backend.ts'
import { Refusal, Unavailable } from '../domain/refusal.ts'
import { scrub } from './log.ts'
import { SettingsFault } from './settings-fault.ts'

/** Why a command ended, for a person and without a stack; and whether what it was given was wrong, or what it met. */
export function explain(thrown: unknown): { text: string; blame: 'settings' | 'circumstances' } {
  if (thrown instanceof SettingsFault) {
    return { text: `wrong settings:\n${thrown.message.replace(/^/gm, '  ')}`, blame: 'settings' }
  }
  if (thrown instanceof Unsuitable) return { text: thrown.message, blame: 'settings' }
  return { text: inWords(thrown), blame: 'circumstances' }
}

function inWords(thrown: unknown): string {
  if (thrown instanceof Refusal) return thrown.reason ?? thrown.code
  if (thrown instanceof Unavailable) {
    const why = thrown.cause instanceof Error ? ` (${scrub(thrown.cause.message)})` : ''
    return `does not answer: ${thrown.message}${why}`
  }
  return thrown instanceof Error ? scrub(thrown.message) : 'failed'
}
