import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { forgetDocument } from './described.ts'
import type { PrintedEvent } from './service.ts'

export const executable = fileURLToPath(new URL('../../dist/portcullis.js', import.meta.url))

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export interface SpawnedService {
  readonly pid: number
  readonly url: string
  readonly events: readonly PrintedEvent[]
  /** Lines of standard error so far. */
  readonly errors: readonly string[]
  /** Sends a signal and resolves to the exit code, or the name of the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | string>
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

/** The built service as a process of its own: what can be killed, and what npm start runs. */
export function spawnService(env: Readonly<Record<string, string>>, cwd = scratchFolder()): Promise<SpawnedService> {
  const child = spawn(process.execPath, [executable, 'serve'], {
    cwd,
    env: { PATH: process.env.PATH, PORTCULLIS_HTTP__PORT: '0', PORTCULLIS_DATA_FOLDER: join(cwd, 'data'), ...env },
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
    void ended.then((how) => reject(new Error(`the service ended (${how}):\n${errors.join('\n')}`)))
    createInterface({ input: child.stderr }).on('line', (line) => {
      errors.push(line)
      const port = /"port":(\d+),"msg":"listening"/.exec(line)?.[1]
      if (port === undefined || child.pid === undefined) return
      const url = `http://localhost:${port}`
      forgetDocument(url)
      resolve({
        pid: child.pid,
        url,
        events,
        errors,
        end(signal) {
          child.kill(signal)
          return ended
        },
      })
    })
  })
}
