import { Unavailable } from '../../../domain/refusal.ts'
import { migrate } from '../migrations.ts'
import { type OpenOptions, openShares, type StoreBackend, type StoreLifecycle, Unsuitable } from '../store-backend.ts'
import type { StorePorts } from '../store-ports.ts'
import {
  connectionKey,
  databaseOf,
  hostsInClear,
  inherited,
  objection,
  placeOf,
  prefixOf,
  type RedisOptions,
} from './address.ts'
import { type Ask, lackedCommand, lacking, messageOf, redisConnection } from './connection.ts'
import { redisLimiter } from './limiter.ts'
import { migrations, schemaRecord } from './migrations.ts'
import { redisRefusedLogins } from './refused-logins.ts'
import { redisSessionStore } from './sessions.ts'
import { redisSingleUseRecords } from './single-use-records.ts'
import { redisTokenStore } from './tokens.ts'

type Offered = Required<Pick<StorePorts, 'sessions' | 'tokens' | 'singleUseRecords' | 'limiter' | 'refusedLogins'>>

/** Redis 7.0 or later, or Valkey. It stores sessions, one-time tokens, single-use records, counters and refused logins, but no users. */
export const redisBackend = {
  kind: 'redis',
  roles: ['sessions', 'tokens'],
  protocols: ['redis:', 'rediss:'],
  objection,
  inherited,
  placeOf,
  hostsInClear,
  open: openRedis,
} as const satisfies StoreBackend<RedisOptions, Offered>

async function openRedis(options: OpenOptions & RedisOptions): Promise<StoreLifecycle & Offered> {
  const { url, clock, warn, shares = openShares() } = options
  const prefix = prefixOf(options)
  const fault = objection(url)
  if (fault !== null) throw new Unsuitable(`redis: the address ${fault}`)

  const driver = await import('ioredis')
  const { value: connection, release } = shares.lease(
    connectionKey(url),
    () => redisConnection(driver, url),
    (unused) => unused.close(),
  )

  let isPrepared = false
  let isClosed = false
  const whileOpen: Ask = async (command) => {
    if (isClosed) throw new Unavailable('redis was closed')
    return connection.ask(command)
  }
  const ask: Ask = async (command) => {
    if (!isPrepared) throw new Unavailable('redis is not prepared yet')
    return whileOpen(command)
  }

  return {
    sessions: redisSessionStore(ask, prefix, clock),
    tokens: redisTokenStore(ask, prefix, clock),
    singleUseRecords: redisSingleUseRecords(ask, prefix, clock),
    limiter: redisLimiter(ask, prefix),
    refusedLogins: redisRefusedLogins(ask, prefix),

    async prepare() {
      if (isClosed) throw new Unavailable('redis was closed')
      await connection.connect()
      await checkServer(whileOpen)
      await selectDatabase(whileOpen, databaseOf(url))
      await checkSettings(whileOpen, warn)
      // Before the probe, whose refused write makes the driver reconnect.
      const record = schemaRecord(whileOpen, prefix)
      await namingLacks(() => migrate(whileOpen, record, migrations, options.leavesMigrations !== true))
      await checkCommands(whileOpen, `${prefix}probe`)
      isPrepared = true
    },

    async ping() {
      // A full server or a replica answers PING but refuses writes.
      await whileOpen((redis) => redis.set(`${prefix}ping`, '1', 'PX', 1000))
    },

    async close() {
      isClosed = true
      await release()
    },
  }
}

/** ioredis uses database 0 when the server does not have the given one. */
async function selectDatabase(ask: Ask, database: number): Promise<void> {
  if (database === 0) return
  try {
    await ask((redis) => redis.select(database))
  } catch (error) {
    if (error instanceof Unavailable) throw error
    throw new Unsuitable(`redis: the server has no database ${database}`, { cause: error })
  }
}

async function checkServer(ask: Ask): Promise<void> {
  const info = await permitted(ask((redis) => redis.info('server')))
  if (info === 'forbidden') return
  const version = /^redis_version:(.*)$/m.exec(info)?.[1]?.trim() ?? ''
  if (Number.parseInt(version, 10) < 7) throw new Unsuitable(`redis: version ${version} is too old, 7.0 is needed`)
  // A connection to one node gets MOVED for the keys of all others.
  if (/^redis_mode:cluster/m.test(info))
    throw new Unsuitable('redis: the address is a node of a Redis Cluster; give the address of a single server')
  if (/^redis_mode:sentinel/m.test(info)) {
    throw new Unsuitable('redis: the address is a Sentinel, which keeps no data; give the address of the server')
  }
}

async function checkSettings(ask: Ask, warn: (message: string) => void): Promise<void> {
  const reply = await permitted(ask((redis) => redis.config('GET', 'maxmemory-policy', 'appendonly')))
  if (reply === 'forbidden') {
    warn('redis: CONFIG is forbidden; make sure that maxmemory-policy is noeviction and appendonly is yes')
    return
  }
  const settings = pairs(reply)
  const policy = settings.get('maxmemory-policy')
  if (policy !== undefined && policy !== 'noeviction') {
    throw new Unsuitable(
      `redis: maxmemory-policy is ${policy}, so a full server would delete sessions; set it to noeviction`,
    )
  }
  if (settings.get('appendonly') === 'no') {
    warn('redis: appendonly is no, so a crash of the server loses sessions and logouts; set it to yes')
  }
}

/** Calls every command of the stores, so that the server checks each permission. Leaves no key behind. */
const everyCommand = `
redis.call('SET', KEYS[1], '1', 'PX', 1000)
redis.call('GET', KEYS[1])
redis.call('PEXPIREAT', KEYS[1], 1)
redis.call('GETDEL', KEYS[1])
redis.call('SET', KEYS[1], 0, 'EX', 1, 'NX')
redis.call('INCRBY', KEYS[1], 1)
redis.call('PTTL', KEYS[1])
redis.call('EXPIRE', KEYS[1], 1)
redis.call('EXISTS', KEYS[1])
redis.call('DEL', KEYS[1])
redis.call('ZADD', KEYS[1], 1, 'a')
redis.call('ZCARD', KEYS[1])
redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', 0)
redis.call('ZREM', KEYS[1], 'a')`

/** Reports a command that the server lacks, or that its user may not call, at the start instead of at the first login. */
async function checkCommands(ask: Ask, key: string): Promise<void> {
  try {
    await namingLacks(() => ask((redis) => redis.eval(everyCommand, 1, key)))
  } catch (error) {
    // A replica or a full server refuses the script, but can still read sessions.
    if (error instanceof Unavailable && /^(READONLY|OOM|MISCONF|NOREPLICAS) /.test(messageOf(error.cause))) return
    throw error
  }
}

/** Turns a missing command or permission into `Unsuitable`, which names it. */
async function namingLacks(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Unsuitable) throw error
    const lacked = lackedCommand(error) ?? lackedInScript(error)
    if (lacked !== null) throw lacking(lacked)
    if (!/NOPERM|The user executing the script/.test(messageOf(error))) throw error
    throw new Unsuitable(`redis: its user lacks a permission: ${messageOf(error)}`, { cause: error })
  }
}

/** The command of the line of `everyCommand` at which the server met an unknown command. */
function lackedInScript(error: unknown): string | null {
  const line = /^ERR Unknown .*@user_script:\s*(\d+)/.exec(messageOf(error))?.[1]
  if (line === undefined) return null
  return /'(\w+)'/.exec(everyCommand.split('\n')[Number(line) - 1] ?? '')?.[1] ?? null
}

/** Managed servers forbid, rename or lack these commands. */
async function permitted<T>(reply: Promise<T>): Promise<T | 'forbidden'> {
  try {
    return await reply
  } catch (error) {
    if (error instanceof Unavailable) throw error
    return 'forbidden'
  }
}

/** Parses the flat list of names and values that CONFIG GET returns. */
function pairs(reply: unknown): ReadonlyMap<string, string> {
  const words: readonly unknown[] = Array.isArray(reply) ? reply : []
  const found = new Map<string, string>()
  for (let index = 0; index + 1 < words.length; index += 2) found.set(String(words[index]), String(words[index + 1]))
  return found
}
