import { type StoreBackend, Unsuitable, unshared } from '../store-backend.ts'
import { clientKey, databaseOf, hostsInClear, inherited, objection, partsOf, placeOf } from './address.ts'
import { openClient } from './client.ts'
import { connectionOf } from './connection.ts'
import { mongoExpiringIds } from './expiring-ids.ts'
import { mongoOAuthStates } from './oauth-states.ts'
import { mongoOutbox } from './outbox.ts'
import { checkSecret, prepare } from './prepare.ts'
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

  async open({ url, clock, shares = unshared }) {
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

      async prepare() {
        await prepare(connection)
        connection.ready()
      },
      ping: () => connection.ping(),
      close: () => connection.close(),
    }
  },
}
