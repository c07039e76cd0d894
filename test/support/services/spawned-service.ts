import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { forgetDocument } from '../http/described.ts'

/** One line of `handlers.console`. */
export interface PrintedEvent {
  readonly event: string
  /** Where there are several. */
  readonly tenant?: string
  readonly user: { readonly id: string; readonly email: string }
  readonly token?: string
  readonly changes?: Readonly<Record<string, unknown>>
  readonly traits?: Readonly<Record<string, unknown>>
  readonly removes_at?: string
  readonly expires_at?: string
}

export const executable = fileURLToPath(new URL('../../../dist/portcullis.js', import.meta.url))

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** `portcullis serve` or `portcullis worker` as a process of its own. */
export interface Spawned {
  readonly pid: number
  readonly events: readonly PrintedEvent[]
  /** Lines of standard error so far. */
  readonly errors: readonly string[]
  /** Sends a signal and resolves to the exit code, or the name of the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | string>
}

export interface SpawnedService extends Spawned {
  readonly url: string
}

const scratchFolders: string[] = []
process.on('exit', () => {
  for (const folder of scratchFolders) rmSync(folder, { recursive: true, force: true })
})

/** A fresh folder, removed when the tests end. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  scratchFolders.push(folder)
  return folder
}

/** The built service, as npm start runs it, or another `program`. */
export async function spawnService(
  env: Readonly<Record<string, string>>,
  cwd = scratchFolder(),
  args: readonly string[] = [],
  program = executable,
): Promise<SpawnedService> {
  const started = /"port":(\d+),"msg":"listening"/
  const { spawned, found } = await spawnPortcullis(['serve', ...args], env, cwd, started, program)
  const url = `http://localhost:${found[1]}`
  forgetDocument(url)
  return { ...spawned, url }
}

/** The built worker, once it works. It prints events, unless it has a module for them. */
export async function spawnWorker(
  env: Readonly<Record<string, string>>,
  cwd = scratchFolder(),
  args: readonly string[] = [],
): Promise<Spawned> {
  const printing = env.PORTCULLIS_HANDLERS__MODULE === undefined && { PORTCULLIS_HANDLERS__CONSOLE: 'true' }
  const { spawned } = await spawnPortcullis(['worker', ...args], { ...printing, ...env }, cwd, /"msg":"working"/)
  return spawned
}

function spawnPortcullis(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
  started: RegExp,
  program = executable,
): Promise<{ spawned: Spawned; found: RegExpExecArray }> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: {
      PATH: process.env.PATH,
      PORTCULLIS_HTTP__PORT: '0',
      PORTCULLIS_DATA_FOLDER: join(cwd, 'data'),
      PORTCULLIS_MAIL__URL: 'off',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const events: PrintedEvent[] = []
  const errors: string[] = []
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      resolve(code ?? signal ?? 'unknown')
    })
  })
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line)))

  return new Promise((resolve, reject) => {
    void ended.then((how) => reject(new Error(`portcullis ${args[0]} ended (${how}):\n${errors.join('\n')}`)))
    createInterface({ input: child.stderr }).on('line', (line) => {
      errors.push(line)
      const found = started.exec(line)
      if (found === null || child.pid === undefined) return
      const end = (signal: NodeJS.Signals): Promise<number | string> => {
        child.kill(signal)
        return ended
      }
      resolve({ spawned: { pid: child.pid, events, errors, end }, found })
    })
  })
}
