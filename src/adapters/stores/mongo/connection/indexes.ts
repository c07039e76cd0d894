import type { CreateIndexesOptions, IndexDescription } from 'mongodb'
import type { Connection } from './connection.ts'

/**
 * Deletes an hour after the expiry, so a server whose clock is ahead deletes nothing early. Queries ignore expired
 * records.
 */
const afterExpiry = { key: { expiresAt: 1 }, name: 'expiresAt', expireAfterSeconds: 3600 } as const

/** The indexes by collection. */
const indexes: Readonly<Record<string, readonly (IndexDescription & { readonly name: string })[]>> = {
  users: [
    { key: { uniqueKeys: 1 }, name: 'uniqueKeys', unique: true },
    { key: { passwordScheme: 1 }, name: 'passwordScheme' },
    // Partial: few users are superusers.
    { key: { isSuperuser: 1 }, name: 'superusers', partialFilterExpression: { isSuperuser: true } },
    // For the search. Partial, too, where few users are wanted.
    { key: { isActive: 1, _id: 1 }, name: 'inactive', partialFilterExpression: { isActive: false } },
    {
      key: { _id: 1, 'factors.resetAt': 1 },
      name: 'factors',
      partialFilterExpression: { factors: { $type: 'object' } },
    },
    { key: { isVerified: 1, _id: 1 }, name: 'verified' },
    { key: { createdAt: 1, _id: 1 }, name: 'createdAt' },
    { key: { lastLoginAt: 1, _id: 1 }, name: 'lastLoginAt' },
    { key: { emailKey: 1 }, name: 'emailKey' },
    // Of each unique field by itself.
    { key: { 'fields.keys.$**': 1 }, name: 'fieldKeys' },
    // Sparse: few users have waiting events.
    { key: { 'outbox.dueAt': 1 }, name: 'dueAt', sparse: true },
  ],
  deliveries: [
    // Sparse: settled ones have none of these fields.
    { key: { queue: 1, order: 1 }, name: 'queue_order', sparse: true },
    { key: { diedAt: 1 }, name: 'diedAt', sparse: true },
    { key: { settledAt: 1 }, name: 'settledAt', expireAfterSeconds: 3600 },
  ],
  queues: [{ key: { sink: 1, readyAt: 1 }, name: 'sink_readyAt' }],
  token_requests: [{ key: { at: 1 }, name: 'at' }],
  dead_token_requests: [{ key: { diedAt: 1 }, name: 'diedAt' }],
  tokens: [{ key: { digest: 1 }, name: 'digest' }, { key: { userId: 1 }, name: 'userId' }, afterExpiry],
  oauth_states: [afterExpiry],
  expiring_ids: [afterExpiry],
  sessions: [{ key: { userId: 1, createdAt: -1 }, name: 'userId_createdAt' }, afterExpiry],
  limits: [
    { key: { key: 1 }, name: 'key', unique: true },
    { key: { createdAt: 1 }, name: 'createdAt' },
    { key: { expire: 1 }, name: 'expire', expireAfterSeconds: 60 },
  ],
  refused_logins: [{ key: { latest: 1 }, name: 'latest' }],
}

/** Replaces the client's time-out of a socket. The driver passes this option on, but does not declare it here. */
const untimed: CreateIndexesOptions & { readonly socketTimeoutMS: number } = { socketTimeoutMS: 0 }

/** Creates the missing indexes, however long the server takes. */
export async function createIndexes({ collection }: Connection): Promise<void> {
  const created = Object.entries(indexes).map(([name, wanted]) => collection(name).createIndexes([...wanted], untimed))
  await Promise.all(created)
}

/** The missing indexes, as `collection.index`. */
export async function missingIndexes(connection: Connection): Promise<readonly string[]> {
  const missing: string[] = []
  for (const [collection, wanted] of Object.entries(indexes)) {
    const found = await namesOf(connection, collection)
    missing.push(...wanted.filter(({ name }) => !found.has(name)).map(({ name }) => `${collection}.${name}`))
  }
  return missing
}

const noSuchCollection = '26'

async function namesOf(connection: Connection, collection: string): Promise<ReadonlySet<unknown>> {
  try {
    const found = await connection.translate(() => connection.collection(collection).listIndexes().toArray())
    return new Set(found.map(({ name }) => name))
  } catch (error) {
    if (connection.refusalOf(error) !== noSuchCollection) throw error
    return new Set()
  }
}
