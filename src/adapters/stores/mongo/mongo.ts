import { Unavailable } from '../../../domain/refusal.ts'
import { openShares, type StoreBackend, Unsuitable } from '../store-backend.ts'
import { clientKey, databaseOf, hostsInClear, inherited, objection, partsOf, placeOf } from './address.ts'
import { openClient } from './client.ts'
import { type Connection, connectionOf, latest } from './connection.ts'
import { mongoExpiringIds } from './expiring-ids.ts'
import { mongoLimiter } from './limiter.ts'
import { mongoOAuthStates } from './oauth-states.ts'
import { mongoOutbox } from './outbox.ts'
import { mongoSessionStore } from './sessions.ts'
import { mongoTokenRequests } from './token-requests.ts'
import { mongoTokenStore } from './tokens.ts'
import { mongoUserStore } from './users.ts'

/**
 * MongoDB 4.4 or later, standalone or replica set. All promises rest on writes of single documents and on unique
 * indexes; none needs a transaction. Do not shard the collections: a unique index cannot span shards.
 */
export const mongoBackend: StoreBackend = {
  kind: 'mongo',
  roles: ['users', 'sessions', 'tokens'],
  protocols: ['mongodb:', 'mongodb+srv:'],
  needsDatabase: true,
  objection,
  inherited,
  placeOf,
  hostsInClear,

  async open({ url, clock, shares = openShares() }) {
    const parts = url === null ? null : partsOf(url)
    const database = parts && databaseOf(parts)
    if (url === null || parts === null || database === null) {
      throw new Unsuitable('the address of MongoDB must name a database, like mongodb://127.0.0.1:27017/portcullis')
    }
    const driver = await import('mongodb')
    const client = shares.lease(
      clientKey(parts),
      () => openClient(driver, url),
      (unused) => unused.close(),
    )
    const connection = connectionOf(driver, client, database, clock)

    return {
      users: {
        users: mongoUserStore(connection),
        outbox: mongoOutbox(connection),
        tokenRequests: mongoTokenRequests(connection),
        expiringIds: mongoExpiringIds(connection),
        checkSecret: (mark) => checkSecret(connection, mark),
      },
      sessions: mongoSessionStore(connection),
      tokens: mongoTokenStore(connection),
      oauthStates: mongoOAuthStates(connection),
      limiter: mongoLimiter(connection),

      async prepare() {
        await prepare(connection)
        connection.ready()
      },
      ping: () => connection.ping(),
      close: () => connection.close(),
    }
  },
}

/**
 * Connects and creates the indexes; several processes may do so at once. An existing index stays as it is. A missing
 * one must be built within the 1.8 s of the socket time-out: on large collections, build a new index before you start a
 * version that needs it.
 */
async function prepare(connection: Connection): Promise<void> {
  try {
    await connection.ping()
    await connection.translate(() => createIndexes(connection))
  } catch (error) {
    const reason = unmendable[connection.refusalOf(error instanceof Unavailable ? error.cause : error)]
    throw reason === undefined ? error : new Unsuitable(`MongoDB: ${reason}`)
  }
}

/**
 * Deletes an hour after the expiry, so a server whose clock is ahead deletes nothing early. Queries ignore expired
 * records.
 */
const afterExpiry = { key: { expiresAt: 1 }, name: 'expiresAt', expireAfterSeconds: 3600 } as const

async function createIndexes(connection: Connection): Promise<void> {
  const { users, tokenRequests, deadTokenRequests, tokens, oauthStates, sessions, expiringIds, limits } = connection
  await Promise.all([
    users.createIndexes([
      { key: { uniqueKeys: 1 }, name: 'uniqueKeys', unique: true },
      { key: { passwordScheme: 1 }, name: 'passwordScheme' },
      // Sparse: few users have waiting events.
      { key: { 'outbox.dueAt': 1 }, name: 'dueAt', sparse: true },
      { key: { 'outbox.dead.diedAt': 1 }, name: 'diedAt', sparse: true },
    ]),
    tokenRequests.createIndexes([{ key: { at: 1 }, name: 'at' }]),
    deadTokenRequests.createIndexes([{ key: { diedAt: 1 }, name: 'diedAt' }]),
    tokens.createIndexes([{ key: { digest: 1 }, name: 'digest' }, { key: { userId: 1 }, name: 'userId' }, afterExpiry]),
    oauthStates.createIndexes([afterExpiry]),
    expiringIds.createIndexes([afterExpiry]),
    sessions.createIndexes([{ key: { userId: 1 }, name: 'userId' }, afterExpiry]),
    limits.createIndexes([
      { key: { key: 1 }, name: 'key', unique: true },
      { key: { createdAt: 1 }, name: 'createdAt' },
      { key: { expire: 1 }, name: 'expire', expireAfterSeconds: 60 },
    ]),
  ])
}

const unmendable: Record<string, string> = {
  tooOld: 'the server is too old, 4.4 is the least',
  13: 'the user named in its address may not use this database',
  18: 'it refuses the user name or the password in its address',
  67: 'an index cannot be created; is this database another program’s?',
  85: 'an index of the same name or keys exists with other options; drop it',
  86: 'an index of the same name exists with other keys; drop it',
  11000: 'an index finds the same address or account twice; is this database another program’s?',
}

/** Of two first starts at once, the unique `_id` makes one the first. */
async function checkSecret({ meta, run, isDuplicate }: Connection, mark: string): Promise<'first' | 'same' | 'other'> {
  return run(async () => {
    try {
      await meta.insertOne({ _id: 'secret', mark })
      return 'first'
    } catch (error) {
      if (!isDuplicate(error)) throw error
    }
    const stored = await meta.findOne({ _id: 'secret' }, latest)
    if (stored === null) throw new Unavailable('the mark of the secret was removed while it was read')
    return stored.mark === mark ? 'same' : 'other'
  })
}
