import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Redis, RedisOptions } from 'ioredis'
import { Unavailable } from '../../../domain/refusal.ts'
import { Unsuitable } from '../store-backend.ts'

/**
 * Sends one command and answers its reply. Throws `Unavailable` within 1 s when the server cannot answer it now;
 * any other error is the server's own word and a fault. A command must name one key only: then it works on one
 * server, under Sentinel and in a Cluster alike, whose scripts and commands never span two hash slots.
 */
export type Ask = <T>(command: (redis: Redis) => Promise<T>) => Promise<T>

type Driver = Pick<typeof import('ioredis'), 'Redis'>

/** Any number of handles may hold it: it is one, with what it knows of the server, for all of them. */
export interface RedisConnection {
  readonly ask: Ask
  /** Resolves when commands can be sent; throws `Unavailable` within 2 s, `Unsuitable` when it is refused. */
  connect(): Promise<void>
  close(): Promise<void>
}

const options = {
  lazyConnect: true,
  connectTimeout: 1500,
  commandTimeout: 1000,
  // Longer than a command may take, so that the callers are answered before the connection is given up.
  socketTimeout: 1500,
  keepAlive: 10_000,
  // How long a closing connection may linger; the default of 2 s would delay reconnecting and the end of the process.
  disconnectTimeout: 200,
  enableOfflineQueue: false,
  // A command is never sent twice: the second GETDEL or DEL would find nothing, and its caller would be told that
  // somebody else ended the session. With 0 whatever was in flight fails as soon as its connection goes.
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  // ioredis asks again after the server's own estimate of its loading time, at least 1 s.
  maxLoadingRetryTime: 250,
  retryStrategy: (attempt: number) => Math.min(25 * 2 ** Math.min(attempt, 5), 800) + Math.random() * 200,
  // After a fail-over the old master answers as a replica; a new connection finds the new one.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions

/** The first words of errors with which a server says "not now". */
const notNow = new Set([
  'LOADING',
  'READONLY',
  'CLUSTERDOWN',
  'MASTERDOWN',
  'TRYAGAIN',
  'BUSY',
  'MISCONF',
  'NOREPLICAS',
  'OOM',
])

/** Nothing is connected yet. To `url` there is no `objection`. */
export function redisConnection({ Redis }: Driver, url: string): RedisConnection {
  const redis = new Redis(url, options)
  let lastError: unknown
  let connecting: Promise<void> | null = null
  redis.on('error', (error: unknown) => {
    lastError = bare(error)
  })
  redis.on('ready', () => {
    lastError = undefined
  })

  async function ready(): Promise<void> {
    const outcome = once(redis, 'ready', { signal: AbortSignal.timeout(1800) })
    // Its failure is told by the event 'error', which ends the wait.
    if (redis.status === 'wait' || redis.status === 'end') redis.connect().catch(() => {})
    try {
      await outcome
    } catch (error) {
      const cause = bare(error instanceof Error && error.name === 'AbortError' ? (lastError ?? error) : error)
      // A wrong password, a database that is not there, protected mode: the server's own words hold no secret.
      if (!isOutage(cause)) throw new Unsuitable(`redis refuses the connection: ${messageOf(cause)}`, { cause })
      throw unavailable(cause)
    }
  }

  return {
    async ask(command) {
      if (redis.status !== 'ready') throw unavailable(lastError ?? new Error('the connection was closed'))
      sendTogether(redis.stream)
      try {
        return await command(redis)
      } catch (error) {
        throw isOutage(error) ? unavailable(bare(error)) : bare(error)
      }
    },

    async connect() {
      if (redis.status === 'ready') return
      // One wait for all who hold this connection and are prepared at the same time.
      connecting ??= ready().finally(() => {
        connecting = null
      })
      await connecting
    },

    async close() {
      // QUIT lets replies that are on their way arrive; a server that does not answer is left after 1 s.
      if (redis.status === 'ready') await redis.quit().catch(() => {})
      redis.disconnect()
    },
  }
}

/**
 * Sends all commands of this turn of the event loop in one system call. The driver makes one call for each command,
 * which is most of a look-up's cost under load.
 */
function sendTogether(stream: Writable): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}

const unavailable = (cause: unknown): Unavailable => new Unavailable('redis does not answer', { cause })

/** For a command that only tidies up. */
export function ignoreOutage(error: unknown): void {
  if (!(error instanceof Unavailable)) throw error
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')

/** Errors other than `ReplyError` come from the driver: the connection is lost, closed, silent or not yet open. */
function isOutage(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return true
  return notNow.has(error.message.split(' ', 1)[0] ?? '') || error.message === 'ERR max number of clients reached'
}

/** ioredis hangs the command with its arguments on the error, a password or an address among them. */
function bare(error: unknown): unknown {
  if (error instanceof Error) Reflect.deleteProperty(error, 'command')
  return error
}

/** `date` for PXAT and PEXPIREAT, which accept no number below 1. */
export const expireAt = (date: Date): number => Math.max(1, date.getTime())
