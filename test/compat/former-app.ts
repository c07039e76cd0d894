import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { eventually } from '../support/eventually.ts'
import { pythonWith } from '../support/project/python.ts'

const run = promisify(execFile)
const version = '15.0.5'
export const appFolder = fileURLToPath(new URL('app', import.meta.url))

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

const others = ['uvicorn', 'asyncpg', 'aiosqlite', 'pytest']
const packages = [`fastapi-users[sqlalchemy,beanie,redis,oauth]==${version}`, ...others]

/** The Python that has fastapi-users and all that `app/` imports. */
export const formerPython = () => pythonWith(`fastapi-users-app-${version}`, ['install', '-q', ...packages])

const environment = (settings: AppSettings) => ({ ...process.env, ...settings, PYTHONDONTWRITEBYTECODE: '1' })

/** Registers people by the code of the application. The first `logins` of them log in through each backend. */
export async function registerPeople(
  settings: AppSettings,
  count: number,
  logins: number,
): Promise<readonly FormerPerson[]> {
  const python = await formerPython()
  const options = { cwd: appFolder, env: environment(settings), maxBuffer: 1 << 28 }
  const { stdout } = await run(python, ['people.py', String(count), String(logins)], options)
  return JSON.parse(stdout)
}

export interface FormerApp {
  readonly url: string
  /** The token of the link that the application has sent last to this address. */
  link(event: 'forgot' | 'verify', email: string): Promise<string>
  stop(): Promise<void>
}

/** Starts the application, or another `module` of a folder. */
export async function startFormerApp(
  settings: AppSettings,
  port: number,
  { module = 'app:app', cwd = appFolder } = {},
): Promise<FormerApp> {
  const python = await formerPython()
  const args = ['-m', 'uvicorn', module, '--port', String(port), '--log-level', 'warning']
  const child: ChildProcess = spawn(python, args, {
    cwd,
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
