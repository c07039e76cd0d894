import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Redis, RedisOptions } from 'ioredis'
import { Unavailable } from '../../../domain/refusal.ts'
import { Unsuitable } from '../store-backend.ts'

/**
 * Sends one command and returns its reply. Throws `Unavailable` within 1 s when the server cannot answer now; any other
 * error of the server is a fault. All keys of a command must lie in one hash slot, so that it works through a proxy before a
 * Cluster, too.
 */
export type Ask = <T>(command: (redis: Redis) => Promise<T>) => Promise<T>

type Driver = Pick<typeof import('ioredis'), 'Redis'>

const options = {
  lazyConnect: true,
  connectTimeout: 1500,
  commandTimeout: 1000,
  // Longer than `commandTimeout`, so that callers get `Unavailable` before the connection is closed.
  socketTimeout: 1500,
  keepAlive: 10_000,
  // The default of 2 s would delay reconnecting and the end of the process.
  disconnectTimeout: 200,
  enableOfflineQueue: false,
  // A command is never sent twice. A second GETDEL or DEL would find nothing, and its caller would get the answer that
  // another caller ended the session. With 0, commands in flight fail as soon as the connection is lost.
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  // ioredis waits for the server's own estimate of its loading time, at least 1 s.
  maxLoadingRetryTime: 250,
  retryStrategy: (attempt: number) => Math.min(25 * 2 ** Math.min(attempt, 5), 800) + Math.random() * 200,
  // After a fail-over the old master is a replica; a new connection finds the new master.
  reconnectOnError: isOfReplica,
} satisfies RedisOptions

/** The first words of errors by which a server says that it cannot serve now. */
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

/** Connects to nothing yet. Any number of handles may share it. `url` must have no `objection`. */
export function redisConnection({ Redis }: Driver, url: string) {
  const redis = new Redis(url, options)
  let lastError: unknown
  let connecting: Promise<void> | null = null
  redis.on('error', (error: unknown) => {
    lastError = certificateFault(redis.stream, error) ?? bare(error)
  })
  redis.on('ready', () => {
    lastError = undefined
  })

  async function ready(): Promise<void> {
    const outcome = once(redis, 'ready', { signal: AbortSignal.timeout(1800) })
    // The event 'error' reports a failure and ends the wait.
    if (redis.status === 'wait' || redis.status === 'end') redis.connect().catch(() => {})
    try {
      await outcome
    } catch (error) {
      const cause = lastError ?? bare(error)
      if (cause instanceof Unsuitable) throw cause
      const lacked = lackedCommand(cause)
      if (lacked !== null) throw lacking(lacked)
      // A wrong password, an unknown database, protected mode: the server's message holds no secret.
      if (!isOutage(cause)) throw new Unsuitable(`redis refuses the connection: ${messageOf(cause)}`, { cause })
      throw unavailable(cause)
    }
  }

  const ask: Ask = async (command) => {
    if (redis.status !== 'ready') throw unavailable(lastError ?? new Error('the connection was closed'))
    sendTogether(redis.stream)
    try {
      return await command(redis)
    } catch (error) {
      if (!isOutage(error)) throw bare(error)
      // `reconnectOnError` then closes the connection, so this reply explains why the next command fails.
      if (isOfReplica(error)) lastError = bare(error)
      throw unavailable(isReply(error) ? bare(error) : (lastError ?? bare(error)))
    }
  }

  return {
    ask,

    /** Resolves when commands can be sent. Throws `Unavailable` within 2 s, or `Unsuitable` when the server refuses us. */
    async connect(): Promise<void> {
      if (redis.status === 'ready') return
      // Handles that prepare at the same time share one attempt.
      connecting ??= ready().finally(() => {
        connecting = null
      })
      await connecting
    },

    async close(): Promise<void> {
      // QUIT lets pending replies arrive; after 1 s without an answer the connection is closed.
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

const unavailable = (cause: unknown): Unavailable =>
  new Unavailable(isReply(cause) ? 'redis refuses the command' : 'redis does not answer', { cause })

const isReply = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError'

export function ignoreOutage(error: unknown): void {
  if (!(error instanceof Unavailable)) throw error
}

function isOfReplica(error: unknown): boolean {
  return messageOf(error).startsWith('READONLY')
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')

/** Errors other than `ReplyError` come from the driver: the connection is lost, closed, silent or not yet open. */
function isOutage(error: unknown): boolean {
  if (!isReply(error)) return true
  return notNow.has(error.message.split(' ', 1)[0] ?? '') || error.message === 'ERR max number of clients reached'
}

/** A fault of certificates, which stays until the operator changes something; `null` for others. */
function certificateFault(stream: unknown, error: unknown): Unsuitable | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // Redis demands it by default.
  if (code.endsWith('_CERTIFICATE_REQUIRED')) {
    return new Unsuitable(
      'redis: the server demands a certificate of its clients, and the service has none. Set tls-auth-clients of the server to no or optional',
    )
  }
  if (!(stream instanceof TLSSocket && stream.authorizationError)) return null
  const prefix = code === '' ? '' : `${code}: `
  return new Unsuitable(
    `redis: the certificate of the server is not trusted (${prefix}${messageOf(error)}). If a CA of your own signed it, name the file of this CA in NODE_EXTRA_CA_CERTS`,
  )
}

/** The command that the server does not have, by its error; `null` for any other error. */
export function lackedCommand(error: unknown): string | null {
  const name = /unknown command ['`](\w+)/.exec(messageOf(error))?.[1]
  return name === undefined ? null : name.toUpperCase()
}

export function lacking(command: string): Unsuitable {
  return new Unsuitable(
    `redis: the server lacks the command ${command}. Give the address of a Redis server, not of a Sentinel, and do not remove commands by rename-command`,
  )
}

/** ioredis attaches the command with its arguments to the error, among them passwords or addresses. */
function bare(error: unknown): unknown {
  // The driver's messages name its own options.
  if (/maxRetriesPerRequest|enableOfflineQueue/.test(messageOf(error))) return new Error('the connection was lost')
  if (error instanceof Error) Reflect.deleteProperty(error, 'command')
  return error
}

/** `date` for PXAT and PEXPIREAT, which accept no number below 1. */
export const expireAt = (date: Date): number => Math.max(1, date.getTime())
