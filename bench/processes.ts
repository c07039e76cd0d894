import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { requestText, type Shot } from './load.ts'
import { bothCores, type Cores, pinned } from './machine.ts'

export const root = fileURLToPath(new URL('..', import.meta.url))
export const executable = join(root, 'dist', 'portcullis.js')

const running = new Set<ChildProcess>()
const folders = new Set<string>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

/** A child process with a way to wait for a line of its output. */
export interface Running {
  readonly pid: number
  /** Writes a line to its standard input. */
  tell(line: string): void
  /** Resolves to the first group of the next matching line of output. Rejects if the process ends first. */
  next(pattern: RegExp): Promise<string>
  end(): Promise<void>
}

interface Start {
  readonly env?: Readonly<Record<string, string>>
  readonly cores?: Cores
  readonly cwd?: string
}

/** An empty folder, removed at the end. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'))
  folders.add(folder)
  return folder
}

export function run(command: string, args: readonly string[], { env = {}, cores = bothCores, cwd }: Start): Running {
  const [program, ...words] = pinned([command, ...args], cores)
  const child = spawn(program, words, {
    cwd: cwd ?? root,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  running.add(child)
  const lines: string[] = []
  const waiting = new Set<{ pattern: RegExp; found: (group: string) => void; ended: (error: Error) => void }>()
  child.once('close', () => {
    running.delete(child)
    for (const { ended } of waiting) ended(new Error(`${command} ${args.join(' ')} ended:\n${lines.join('\n')}`))
  })
  for (const output of [child.stdout, child.stderr]) {
    createInterface({ input: output }).on('line', (line) => {
      lines.push(line)
      if (lines.length > 20) lines.shift()
      for (const wait of waiting) {
        const match = wait.pattern.exec(line)
        if (match === null) continue
        waiting.delete(wait)
        wait.found(match[1] ?? '')
      }
    })
  }
  if (child.pid === undefined) throw new Error(`${command} cannot be started`)
  return {
    pid: child.pid,
    tell: (line) => child.stdin.write(`${line}\n`),
    next: (pattern) => new Promise((found, ended) => waiting.add({ pattern, found, ended })),
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'close')
      child.kill('SIGTERM')
      await ended
    },
  }
}

export interface Server {
  readonly pid: number
  readonly url: string
  end(): Promise<void>
}

export interface StartedService extends Server {
  /** Holds the SQLite file. */
  readonly dataFolder: string
}

/** The master secret of every measured service. The bare application needs it to read tokens. */
export const secret = 'a secret that only serves to measure with'

/** A long queue of hashes, so that a busy machine does not answer logins with 503. */
export const longHashQueue = { PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60' }

export interface ServiceStart extends Start {
  /** Options of `serve`. */
  readonly args?: readonly string[]
  /** The content of its settings file. */
  readonly settings?: object
  /** The executable of another release. */
  readonly program?: string
  /** The default is a new folder. Pass the folder of an earlier service to use its data. */
  readonly dataFolder?: string
}

/** Starts the built service with its defaults, except `env` and `settings`. */
export async function startService(options: ServiceStart = {}): Promise<StartedService> {
  const cwd = scratchFolder()
  const { settings, program = executable, dataFolder = join(cwd, 'data'), args = [] } = options
  if (settings !== undefined) writeFileSync(join(cwd, 'portcullis.config.json'), JSON.stringify(settings))
  const service = run(process.execPath, [program, 'serve', ...args], {
    ...options,
    cwd,
    env: {
      PORTCULLIS_HTTP__PORT: '0',
      PORTCULLIS_DATA_FOLDER: dataFolder,
      PORTCULLIS_SECRET: secret,
      PORTCULLIS_HANDLERS__CONSOLE: 'false',
      PORTCULLIS_MAIL__URL: 'off',
      ...options.env,
    },
  })
  const port = await service.next(/"port":(\d+),"msg":"listening"/)
  return { pid: service.pid, url: `http://127.0.0.1:${port}`, dataFolder, end: service.end }
}

/** Starts a bare application of the folder `bare`. */
export async function startBare(file: string, env: Readonly<Record<string, string>>, cores: Cores): Promise<Server> {
  const bare = run(process.execPath, [join(root, 'bench', 'bare', file)], { env, cores })
  const port = await bare.next(/^listening (\d+)$/)
  return { pid: bare.pid, url: `http://127.0.0.1:${port}`, end: bare.end }
}

/** Starts a process that can flood the server at `url`. */
export async function startFlood(url: string, connections: number) {
  const flood = run(process.execPath, [join(root, 'bench', 'flood.mjs'), new URL(url).port, `${connections}`], {})
  await flood.next(/^(ready)$/)
  return {
    begin(shot: Shot, seconds: number) {
      flood.tell(JSON.stringify({ request: requestText(new URL(url).host, shot), seconds }))
      /** `begun`: each connection has had an answer. */
      return { begun: flood.next(/^(begun)$/), ended: flood.next(/^(flooded) /) }
    },
    end: flood.end,
  }
}

/** Starts a redis-server with an append-only file, as the documentation recommends. */
export async function startRedis(cores: Cores): Promise<Server> {
  const folder = scratchFolder()
  const port = 20_000 + (process.pid % 20_000)
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'yes']
  const redis = run('redis-server', args, { cores })
  await redis.next(/(Ready to accept connections)/)
  return { pid: redis.pid, url: `redis://127.0.0.1:${port}`, end: redis.end }
}

/** Resident memory of a process, in MB. */
export function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kilobytes) / 1024)
}

/** The memory of processes that share some of it, in MB: each part that several share counts once. */
export function sharedMegabytes(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) => /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
  return Math.round(kilobytes.reduce((sum, one) => sum + Number(one), 0) / 1024)
}

/** The processor time of a process with all its threads, in seconds. */
export function processorSeconds(pid: number): number {
  // proc(5): the 12th and 13th field after the name in brackets are user and system time, in ticks of 10 ms.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
