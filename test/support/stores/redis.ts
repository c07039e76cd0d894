import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { redisBackend } from '../../../src/adapters/stores/redis/redis.ts'
import type { Shares, StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { openShares } from '../../../src/adapters/stores/store-backend.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { skipIfMissing } from '../servers/obstacles.ts'
import { freePort } from '../servers/ports.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** Of the process that runs now; another one after `restart`. */
  readonly pid: number
  /** Ends the process as an operator would; its data stay. */
  stop(): Promise<void>
  /** Starts again on the same port and the same data, after `stop` when it still runs. */
  restart(): Promise<void>
  /** Ends the process and deletes its data. */
  close(): Promise<void>
}

let isInstalled: boolean | undefined

/** Why no `redis-server` can be started here; `null` when one can. */
export function redisServerObstacle(): string | null {
  isInstalled ??= spawnSync('redis-server', ['--version']).status === 0
  return isInstalled ? null : 'there is no redis-server on the PATH'
}

export function needsRedisServer(suite: Mocha.Context): void {
  skipIfMissing(suite, redisServerObstacle())
}

/** Functions that end the servers which still run when this process ends. */
const leftAtExit = new Set<() => void>()
process.once('exit', endAll)
process.once('SIGTERM', () => {
  endAll()
  process.kill(process.pid, 'SIGTERM')
})

function endAll(): void {
  for (const end of leftAtExit) end()
}

/** A server of the test's own with an append-only file, and with `settings` as redis-server's arguments. */
export function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  return started(async (folder) => ['--dir', folder, '--save', '', '--appendonly', 'yes', ...settings])
}

/** A Sentinel that monitors nothing. */
export function startSentinel(): Promise<RedisServer> {
  return started(async (folder) => {
    const file = join(folder, 'sentinel.conf') // a Sentinel writes its state into the file
    await writeFile(file, '')
    return [file, '--sentinel']
  })
}

/** @param argumentsIn the arguments of `redis-server`, given its folder */
async function started(argumentsIn: (folder: string) => Promise<readonly string[]>): Promise<RedisServer> {
  const obstacle = redisServerObstacle()
  if (obstacle !== null) throw new Error(obstacle)
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-redis-'))
  const port = await freePort()
  const args = [...(await argumentsIn(folder)), '--port', `${port}`, '--bind', '127.0.0.1']
  let server = await launch()

  const leaveNothing = (): void => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  leftAtExit.add(leaveNothing)

  async function launch(): Promise<ChildProcess> {
    const child = spawn('redis-server', args, { stdio: 'ignore' })
    // Neither this process nor a test run waits for it.
    child.unref()
    for (const deadline = Date.now() + 60_000; !(await answers(port)); await delay(20)) {
      if (child.exitCode !== null || Date.now() > deadline) {
        child.kill('SIGKILL')
        throw new Error(`redis-server does not answer on port ${port}`)
      }
    }
    return child
  }

  async function stop(): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    server.ref()
    // It refuses to end while it writes its first append-only file.
    const again = setInterval(() => server.kill('SIGTERM'), 100)
    server.kill('SIGTERM')
    await exited
    clearInterval(again)
  }

  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return server.pid ?? 0
    },
    stop,
    async restart() {
      await stop()
      server = await launch()
    },
    async close() {
      await stop()
      leftAtExit.delete(leaveNothing)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Whether a Redis answers there that has loaded its data, with or without a password. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(500, () => end(false))
    socket.once('error', () => end(false))
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (reply) => end(/^(\+PONG|-NOAUTH)/.test(reply.toString('latin1'))))
  })
}

let shared: Promise<RedisServer> | undefined

/** `REDIS_URL`, else a server that all suites share and that ends with the process. Use keys of your own in it. */
export async function sharedRedisUrl(): Promise<string> {
  const given = process.env.REDIS_URL
  if (given !== undefined && given !== '') return given
  shared ??= startRedis()
  return (await shared).url
}

/** A handle on `url`, ready, whose keys begin with `prefix`. */
export async function openRedisHandle(
  url: string,
  prefix: string,
  clock: () => Date = () => new Date(),
  shares?: Shares,
): Promise<StoreHandle> {
  const options = { url, prefix, clock, warn() {}, ...(shares && { shares }) }
  const handle = await redisBackend.open(options)
  await handle.prepare()
  return handle
}

const shares = openShares()

async function dropKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url)
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1000 })) {
      for (const key of keys) await redis.unlink(key)
    }
  } finally {
    redis.disconnect()
  }
}

export const redisUnderTest: StoreUnderTest = {
  name: 'redis',
  sweeps: false,
  start: async () => (process.env.REDIS_URL ? null : redisServerObstacle()),
  roles: redisBackend.roles,
  ports: ['limiter', 'refusedLogins'],
  /** The first handle shares its connection with those of other prefixes, the second has its own. */
  async open() {
    const url = await sharedRedisUrl()
    const prefix = `test-${randomUUID()}:`
    const clock = fixedClock()
    const store = await openRedisHandle(url, prefix, clock, shares)
    const second = await openRedisHandle(url, prefix, clock)
    return {
      clock,
      store,
      second,
      async close() {
        await Promise.all([store.close(), second.close()])
        await dropKeys(url, prefix)
      },
    }
  },
}

export function sessionsOf({ sessions }: StoreHandle) {
  if (sessions === undefined) throw new Error('this handle stores no sessions')
  return sessions
}

export function tokensOf({ tokens }: StoreHandle) {
  if (tokens === undefined) throw new Error('this handle stores no tokens')
  return tokens
}

export function singleUseRecordsOf({ singleUseRecords }: StoreHandle) {
  if (singleUseRecords === undefined) throw new Error('this handle stores no single-use records')
  return singleUseRecords
}
