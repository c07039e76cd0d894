import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { executable, scratchFolder } from './spawned-service.ts'

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
}

/** Runs `portcullis` to its end, as a person does who has set nothing but `env`. */
export async function portcullis(args: readonly string[], circumstances: Circumstances = {}): Promise<Ran> {
  const { env = {}, cwd = scratchFolder(), input = '' } = circumstances
  const child = spawn(process.execPath, [executable, ...args], { cwd, env: { PATH: process.env.PATH, ...env } })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  child.stdin.on('error', () => {}) // a command that does not read it may have ended
  child.stdin.end(input)
  await once(child, 'close')
  return { code: child.exitCode, out, err }
}
