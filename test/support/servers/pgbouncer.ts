import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { eventually } from '../eventually.ts'
import { freePort } from './ports.ts'
import { postgresObstacle, serverUser } from './postgres-server.ts'

export interface PgBouncer {
  /** The address of the same database and user through the pooler. */
  through(url: string): string
  /** Runs a command of its console, such as RECONNECT. */
  command(text: string): Promise<void>
  close(): Promise<void>
}

/** Why no pooler can be started here; `null` when one can. */
export function pgBouncerObstacle(): string | null {
  const isInstalled = spawnSync('pgbouncer', ['--version'], { env: programPath }).status === 0
  return postgresObstacle() ?? (isInstalled ? null : 'there is no pgbouncer on the PATH')
}

/** Debian puts it where only administrators look. */
const programPath = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

/** A pooler in transaction mode before the server on this port, for these users, all without passwords. */
export async function startPgBouncer(
  serverPort: number | string,
  { users = ['postgres'], settings = [] }: { users?: readonly string[]; settings?: readonly string[] } = {},
): Promise<PgBouncer> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-pgbouncer-'))
  chmodSync(folder, 0o755)
  const [file, usersFile] = [join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')]
  await writeFile(usersFile, users.map((user) => `"${user}" ""\n`).join(''))
  await writeFile(
    file,
    [
      '[databases]',
      `* = host=127.0.0.1 port=${serverPort}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${usersFile}`,
      `admin_users = ${users[0]}`,
      'pool_mode = transaction',
      'max_client_conn = 1000',
      ...settings,
    ].join('\n'),
  )
  const child: ChildProcess = spawn('pgbouncer', ['-q', file], { ...serverUser(), env: programPath, stdio: 'ignore' })
  child.unref()
  const ended = once(child, 'exit')
  const leaveNothing = (): void => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', leaveNothing)

  async function command(text: string): Promise<void> {
    const client = new pg.Client({ host: '127.0.0.1', port, user: users[0], database: 'pgbouncer' })
    client.on('error', () => undefined)
    await client.connect()
    await client.query(text).finally(() => client.end())
  }

  await eventually('an answer of PgBouncer', () => {
    if (child.exitCode !== null) throw new Error('pgbouncer ended')
    return command('SHOW VERSION').then(
      () => true,
      () => false,
    )
  })
  return {
    command,
    through(url) {
      const address = new URL(url)
      address.port = `${port}`
      return address.href
    },
    async close() {
      process.off('exit', leaveNothing)
      leaveNothing()
      await ended
    },
  }
}
