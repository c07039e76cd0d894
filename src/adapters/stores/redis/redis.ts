import { Unavailable } from '../../../domain/refusal.ts'
import { type OpenOptions, type StoreBackend, type StoreHandle, Unsuitable } from '../backend.ts'
import { type Ask, redisConnection } from './connection.ts'
import { redisOAuthStates } from './oauth-states.ts'
import { redisSessionStore } from './sessions.ts'
import { redisTokenStore } from './tokens.ts'

/** Redis 7.0 or later, or Valkey: sessions, one-time tokens and OAuth states, never users. */
export const redisBackend: StoreBackend = {
  kind: 'redis',
  roles: ['sessions', 'tokens'],
  protocols: ['redis:', 'rediss:'],
  open: (options) => openRedis(options, 'portcullis:'),
}

/** As `redisBackend.open`, under keys that begin with `prefix`. */
export async function openRedis(options: OpenOptions, prefix: string): Promise<StoreHandle> {
  const { url, clock, warn } = options
  if (url === null) throw new Unsuitable('redis: needs an address, redis://host:port/database')
  const connection = await redisConnection(url)

  let isPrepared = false
  const ask: Ask = async (command) => {
    if (!isPrepared) throw new Unavailable('redis was not reached yet')
    return connection.ask(command)
  }

  return {
    sessions: redisSessionStore(ask, prefix, clock),
    tokens: redisTokenStore(ask, prefix, clock),
    oauthStates: redisOAuthStates(ask, prefix, clock),

    async prepare() {
      await connection.connect()
      await selectDatabase(connection.ask, url)
      await judgeServer(connection.ask)
      await judgeSettings(connection.ask, warn)
      isPrepared = true
    },

    async ping() {
      await connection.ask((redis) => redis.ping())
    },

    close: () => connection.close(),
  }
}

/** ioredis goes on with database 0 when the server has none of the number it was given. */
async function selectDatabase(ask: Ask, url: string): Promise<void> {
  const database = Number(new URL(url).pathname.slice(1))
  if (database === 0) return
  try {
    await ask((redis) => redis.select(database))
  } catch (error) {
    if (error instanceof Unavailable) throw error
    throw new Unsuitable(`redis: the server has no database ${database}`, { cause: error })
  }
}

async function judgeServer(ask: Ask): Promise<void> {
  const info = await permitted(ask((redis) => redis.info('server')))
  if (info === 'forbidden') return
  const version = /^redis_version:(.*)$/m.exec(info)?.[1]?.trim() ?? ''
  if (Number.parseInt(version, 10) < 7) throw new Unsuitable(`redis: version ${version} is too old, 7.0 is needed`)
  // A single connection to one node is told MOVED for the keys of all others.
  if (/^redis_mode:cluster/m.test(info)) throw new Unsuitable('redis: the address is a node of a Redis Cluster')
}

async function judgeSettings(ask: Ask, warn: (message: string) => void): Promise<void> {
  const reply = await permitted(ask((redis) => redis.config('GET', 'maxmemory-policy', 'appendonly')))
  if (reply === 'forbidden') {
    warn('redis: CONFIG is forbidden; make sure that maxmemory-policy is noeviction and appendonly is yes')
    return
  }
  const settings = pairs(reply)
  const policy = settings.get('maxmemory-policy')
  if (policy !== undefined && policy !== 'noeviction') {
    throw new Unsuitable(
      `redis: maxmemory-policy is ${policy}, so that a full server would end logins; set it to noeviction`,
    )
  }
  if (settings.get('appendonly') === 'no') {
    warn('redis: appendonly is no, so that a crash of the server forgets sessions and log-outs; set it to yes')
  }
}

/** Managed servers forbid, rename or lack commands that only serve to judge them. */
async function permitted<T>(reply: Promise<T>): Promise<T | 'forbidden'> {
  try {
    return await reply
  } catch (error) {
    if (error instanceof Unavailable) throw error
    return 'forbidden'
  }
}

/** The flat list of names and values in which CONFIG GET answers. */
function pairs(reply: unknown): ReadonlyMap<string, string> {
  const words: readonly unknown[] = Array.isArray(reply) ? reply : []
  const found = new Map<string, string>()
  for (let index = 0; index + 1 < words.length; index += 2) found.set(String(words[index]), String(words[index + 1]))
  return found
}
