import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { executable, scratchFolder } from '../services/spawned-service.ts'

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface Circumstances {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** All of standard input, which is no terminal. */
  readonly input?: string | Uint8Array
  /** The process is ended after this time. */
  readonly seconds?: number
  /** The executable; by default that of this release. */
  readonly program?: string
}

/** Runs `portcullis` to its end, with no other variables than `env`. */
export async function portcullis(args: readonly string[], circumstances: Circumstances = {}): Promise<Ran> {
  const { env = {}, cwd = scratchFolder(), input = '', program = executable, seconds = 120 } = circumstances
  const whole = { PATH: process.env.PATH, ...env }
  const child = spawn(process.execPath, [program, ...args], { cwd, env: whole, timeout: seconds * 1000 })
  child.stdin.on('error', () => {}) // a command that does not read it may have ended
  child.stdin.end(input)
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, out, err }
}
