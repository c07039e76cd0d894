import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { eventually } from '../support/eventually.ts'

const run = promisify(execFile)
const version = '15.0.5'
const cache = fileURLToPath(new URL(`../../.cache/fastapi-users-app-${version}`, import.meta.url))
const python = join(cache, 'bin', 'python')
const folder = fileURLToPath(new URL('app', import.meta.url))

/** A person whom the application itself has registered (`app/people.py`). */
export interface FormerPerson {
  readonly id: string
  readonly email: string
  readonly password: string
  readonly own: {
    readonly first_name: string
    readonly birthday: string | null
    readonly role: string
    readonly newsletter: boolean
    readonly age: number | null
  }
  readonly links: readonly string[]
  readonly is_verified: boolean
  readonly is_active: boolean
  readonly is_superuser: boolean
  readonly tokens: { readonly jwt?: string; readonly cookie?: string; readonly redis?: string }
}

/** `DATABASE` as SQLAlchemy writes it, `IDS=integer`, `REDIS`, `SECRET`, `LIFETIME`, `ACME_SITE`. */
export type AppSettings = Readonly<{ DATABASE: string } & Record<string, string>>

async function install(): Promise<void> {
  const done = join(cache, 'installed')
  if (existsSync(done)) return
  await run('python3', ['-m', 'venv', cache])
  const drivers = ['uvicorn', 'asyncpg', 'aiosqlite']
  const wanted = [`fastapi-users[sqlalchemy,beanie,redis,oauth]==${version}`, ...drivers]
  await run(python, ['-m', 'pip', 'install', '-q', ...wanted])
  await writeFile(done, '')
}

const environment = (settings: AppSettings) => ({ ...process.env, ...settings, PYTHONDONTWRITEBYTECODE: '1' })

/** Registers people by the code of the application. The first `logins` of them log in through each backend. */
export async function registerPeople(
  settings: AppSettings,
  count: number,
  logins: number,
): Promise<readonly FormerPerson[]> {
  await install()
  const options = { cwd: folder, env: environment(settings), maxBuffer: 1 << 28 }
  const { stdout } = await run(python, ['people.py', String(count), String(logins)], options)
  return JSON.parse(stdout)
}

export interface FormerApp {
  readonly url: string
  /** The token of the link that the application has sent last to this address. */
  link(event: 'forgot' | 'verify', email: string): Promise<string>
  stop(): Promise<void>
}

export async function startFormerApp(settings: AppSettings, port: number): Promise<FormerApp> {
  await install()
  const args = ['-m', 'uvicorn', 'app:app', '--port', String(port), '--log-level', 'warning']
  const child: ChildProcess = spawn(python, args, {
    cwd: folder,
    env: environment(settings),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const told: { readonly event: string; readonly email: string; readonly token: string }[] = []
  if (child.stdout !== null) createInterface(child.stdout).on('line', (line) => told.push(JSON.parse(line)))
  const atExit = () => child.kill('SIGKILL')
  process.once('exit', atExit)
  const url = `http://localhost:${port}`
  await eventually('the application', async () => (await fetch(`${url}/openapi.json`).catch(() => null))?.ok === true)
  return {
    url,
    async link(event, email) {
      const found = await eventually('the link', () =>
        told.findLast((one) => one.event === event && one.email === email),
      )
      return found.token
    },
    async stop() {
      process.removeListener('exit', atExit)
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}
