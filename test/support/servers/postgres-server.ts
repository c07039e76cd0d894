import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './ports.ts'

export interface PostgresServer {
  readonly port: number
  /** The address of a new, empty database. */
  newDatabase(options?: string): Promise<string>
  /** Drops the database of this address. */
  drop(url: string): Promise<void>
  /** Runs a statement as the superuser of the server. */
  query(text: string, database?: string): Promise<void>
  /** The ids of the server's processes: the one that accepts connections, and one for each connection. */
  processes(): readonly number[]
  /** Ends the server in order. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** The folder of the data. */
  readonly folder: string
  /** Serves again after `stop`, on the same port and with the same data. */
  restart(): Promise<void>
  /** A streaming replica of this server. */
  newReplica(): Promise<PostgresServer>
  /** Makes a primary of a replica, once it has received everything. */
  promote(): Promise<void>
  /** Ends the server and removes its data. */
  destroy(): Promise<void>
}

/** The folder of the server's programs, which Debian does not put on the PATH; `null` if there is none. */
function programs(): string | null {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql').sort().reverse() : []
  const folders = [...(process.env.PATH ?? '').split(':'), ...versions.map((one) => `/usr/lib/postgresql/${one}/bin`)]
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
  return found === undefined ? null : dirname(realpathSync(join(found, 'initdb'))) // beside links of some programs
}

/** Why no server can be started here; `null` when one can. */
export function postgresObstacle(): string | null {
  return programs() === null ? 'there is no initdb of PostgreSQL' : null
}

/** The user that runs the server: PostgreSQL refuses to run as root. */
export function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const numberOf = (option: string) => Number(spawnSync('id', [option, 'postgres'], { encoding: 'utf8' }).stdout)
  return { uid: numberOf('-u'), gid: numberOf('-g') }
}

let shared: Promise<PostgresServer> | undefined

/** The server that all tests of a run share. It ends with this process. */
export function sharedPostgres(): Promise<PostgresServer> {
  shared ??= startPostgres(['-c', 'fsync=off'])
  return shared
}

/** A server of the test's own, with these arguments of `postgres` and of `initdb`. */
export async function startPostgres(
  settings: readonly string[] = [],
  initial: readonly string[] = [],
): Promise<PostgresServer> {
  const data = await newFolder()
  run('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N', ...initial])
  return await started(data, settings)
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-postgres-'))
  chmodSync(folder, 0o700)
  const user = serverUser()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  return folder
}

function run(program: string, options: readonly string[]): void {
  const done = spawnSync(join(programs() ?? '', program), options, { ...serverUser(), encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`${program} failed: ${done.stderr}`)
}

async function started(data: string, settings: readonly string[]): Promise<PostgresServer> {
  const folder = programs() ?? ''
  const user = serverUser()
  const port = await freePort()
  const options = [
    '-D',
    data,
    '-p',
    `${port}`,
    '-k',
    '',
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    'max_connections=300',
    ...settings,
  ]
  let server: ChildProcess

  function begin(): void {
    server = spawn(join(folder, 'postgres'), options, { ...user, stdio: 'ignore' })
    server.unref()
  }

  async function launch(mayRetry = false): Promise<void> {
    begin()
    for (const deadline = Date.now() + 60_000; ; await sleep(20)) {
      try {
        return await query('SELECT 1')
      } catch (error) {
        if (Date.now() > deadline || (server.exitCode !== null && !mayRetry)) throw error
        // No server starts while processes of a killed one hold its shared memory.
        if (server.exitCode !== null) begin()
      }
    }
  }

  async function query(text: string, database = 'postgres'): Promise<void> {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database })
    client.on('error', () => undefined)
    await client.connect()
    await client.query(text).finally(() => client.end())
  }

  async function stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    server.ref()
    server.kill(signal)
    await exited
  }

  const leaveNothing = (): void => {
    server.kill('SIGQUIT')
    rmSync(data, { recursive: true, force: true })
  }
  process.once('exit', leaveNothing)
  await launch()

  return {
    port,
    folder: data,
    processes: () => {
      const pid = server.pid ?? 0
      const children = spawnSync('ps', ['--ppid', `${pid}`, '-o', 'pid='], { encoding: 'utf8' }).stdout
      return [pid, ...children.trim().split(/\s+/).map(Number)]
    },
    query,
    async newDatabase(created = '') {
      const name = `test_${randomUUID().replaceAll('-', '')}`
      await query(`CREATE DATABASE ${name} ${created}`)
      return `postgres://postgres@127.0.0.1:${port}/${name}`
    },
    async drop(url) {
      await query(`DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
    },
    stop,
    restart: () => launch(true),
    async newReplica() {
      const copy = await newFolder()
      run('pg_basebackup', ['-R', '-c', 'fast', '-D', copy, '-h', '127.0.0.1', '-p', `${port}`, '-U', 'postgres', '-N'])
      return await started(copy, settings)
    },
    promote: async () => run('pg_ctl', ['promote', '-w', '-D', data]),
    async destroy() {
      await stop('SIGQUIT')
      process.off('exit', leaveNothing)
      rmSync(data, { recursive: true, force: true })
    },
  }
}
