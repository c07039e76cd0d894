import type { MongoClient } from 'mongodb'
import { type StoreBackend, Unsuitable } from '../backend.ts'
import { connectionOf, type Driver } from './connection.ts'
import { mongoOAuthStates } from './oauth-states.ts'
import { mongoOutbox } from './outbox.ts'
import { prepare } from './prepare.ts'
import { checkSecret } from './secret-mark.ts'
import { mongoSessionStore } from './sessions.ts'
import { mongoTokenRequests } from './token-requests.ts'
import { mongoTokenStore } from './tokens.ts'
import { mongoUserStore } from './users.ts'

/**
 * MongoDB 4.4 or later, a standalone server as well as a replica set: every promise rests on one document being
 * written at a time and on unique indexes, none on transactions. The collections are not to be sharded, since
 * a unique index cannot span shards.
 */
export const mongoBackend: StoreBackend = {
  kind: 'mongo',
  roles: ['users', 'sessions', 'tokens'],
  protocols: ['mongodb:', 'mongodb+srv:'],
  needsDatabase: true,

  async open({ url, clock }) {
    if (url === null || !namesDatabase(url)) {
      throw new Unsuitable('the address of MongoDB must name a database, like mongodb://127.0.0.1:27017/portcullis')
    }
    const driver = await import('mongodb')
    const connection = connectionOf(driver, clientOf(driver, url), clock)

    return {
      users: {
        users: mongoUserStore(connection),
        outbox: mongoOutbox(connection),
        tokenRequests: mongoTokenRequests(connection),
        checkSecret: (mark) => checkSecret(connection, mark),
      },
      sessions: mongoSessionStore(connection),
      tokens: mongoTokenStore(connection),
      oauthStates: mongoOAuthStates(connection),

      async prepare() {
        await prepare(connection)
        connection.ready()
      },
      ping: () => connection.ping(),
      close: () => connection.close(),
    }
  },
}

/** Without one the driver would use `test`. A slash before the path is always percent-encoded. */
function namesDatabase(url: string): boolean {
  return /^[^:]+:\/\/[^/?]+\/[^?]/.test(url)
}

function clientOf(driver: Driver, url: string): MongoClient {
  try {
    return new driver.MongoClient(url, {
      appName: 'portcullis',
      serverSelectionTimeoutMS: 1500,
      connectTimeoutMS: 1500,
      socketTimeoutMS: 1800,
      waitQueueTimeoutMS: 1500,
      ignoreUndefined: true,
      ...(/[?&]maxPoolSize=/i.test(url) ? {} : { maxPoolSize: 50 }),
    })
  } catch (error) {
    // The cause is kept back: its message may repeat the address, with its password.
    throw new Unsuitable(`the address of MongoDB cannot be used (${error instanceof Error ? error.name : 'unknown'})`)
  }
}
