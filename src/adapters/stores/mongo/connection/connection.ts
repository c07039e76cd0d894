import type { Collection, Document, Filter, Sort } from 'mongodb'
import type { Page } from '../../../../application/ports/stores/page.ts'
import { Unavailable } from '../../../../domain/refusal.ts'
import { type Lease, Unsuitable } from '../../store-backend.ts'
import type {
  DeadRequestDocument,
  DeliveryDocument,
  ExpiringDocument,
  LimitDocument,
  MetaDocument,
  QueueDocument,
  RefusedLoginsDocument,
  RequestDocument,
  SessionDocument,
  SingleUseDocument,
  TokenDocument,
  UserDocument,
} from '../documents.ts'
import type { Client, Driver } from './client.ts'
import { isOutage } from './outages.ts'

/** The time-out of an operation, whatever its number of steps. */
const longestWaitMs = 1900

/**
 * An acknowledged write survives a fail-over, and a read never returns data that is rolled back later. These options of
 * the database override those of the address.
 */
const durable = (driver: Driver) => ({
  writeConcern: { w: 'majority' as const, journal: true, wtimeoutMS: 1500 },
  readConcern: new driver.ReadConcern('majority'),
  readPreference: 'primary' as const,
})

/**
 * Reads writes that are not yet acknowledged: the holder of a unique key, or the records that were leased. A majority
 * read would return the state before them.
 */
export const latest = { readConcern: { level: 'local' } } as const

interface LeaseOrder {
  readonly due: object
  readonly order: Sort
  /** The fields that the lease sets. */
  readonly mark: { readonly leaseId: string; readonly [field: string]: unknown }
  readonly limit: number
}

export type Connection = ReturnType<typeof connectionOf>

/** Opens a database of a client that other handles may share. */
export function connectionOf(
  driver: Driver,
  { value: { client }, release }: Lease<Client>,
  databaseName: string,
  now: () => Date,
) {
  const database = client.db(databaseName, durable(driver))
  // A fail-over that loses counters allows a few more guesses; waiting for the journal would delay every login.
  const counting = { writeConcern: { w: 1 }, readPreference: 'primary' } as const
  const meta = database.collection<MetaDocument>('meta')
  const underWay = new Set<() => void>()
  let isReady = false
  let isClosed = false

  /** Like `run`, for `prepare`: the store need not be ready, and each step has its own time-out. */
  async function translate<T>(operation: () => Promise<T>): Promise<T> {
    try {
      return await operation()
    } catch (error) {
      if (isOutage(driver, error)) throw new Unavailable('MongoDB does not answer', { cause: error })
      // When the driver connects, it loads packages for a login mechanism or a compression, and files for TLS.
      if (error instanceof driver.MongoMissingDependencyError) {
        throw new Unsuitable(`the address of MongoDB needs a package that is not installed: ${error.message}`)
      }
      if (error instanceof Error && 'path' in error) {
        throw new Unsuitable(`the address of MongoDB names a file that cannot be read: ${error.message}`)
      }
      throw error
    }
  }

  async function inTime<T>(operation: () => Promise<T>): Promise<T> {
    if (isClosed) throw new Unavailable('MongoDB was closed')
    return new Promise((resolve, reject) => {
      const end = () => reject(new Unavailable('MongoDB was closed'))
      const timer = setTimeout(() => reject(new Unavailable('MongoDB does not answer in time')), longestWaitMs)
      underWay.add(end)
      translate(operation)
        .finally(() => {
          clearTimeout(timer)
          underWay.delete(end)
        })
        .then(resolve, reject)
    })
  }

  /** Whether a write, or every failed one of many, failed because a unique value is taken. The error does not always name it. */
  function isDuplicate(error: unknown): boolean {
    if (!(error instanceof driver.MongoServerError) || error.code !== 11000) return false
    if (!(error instanceof driver.MongoBulkWriteError)) return true
    return [error.writeErrors].flat().every(({ code }) => code === 11000)
  }

  /** Runs an operation of a port. Throws `Unavailable` when the store does not answer in time or is not prepared. */
  async function run<T>(operation: () => Promise<T>): Promise<T> {
    if (!isReady) throw new Unavailable('MongoDB is not prepared yet')
    return inTime(operation)
  }

  return {
    users: database.collection<UserDocument>('users'),
    deliveries: database.collection<DeliveryDocument>('deliveries'),
    queues: database.collection<QueueDocument>('queues'),
    tokenRequests: database.collection<RequestDocument>('token_requests'),
    deadTokenRequests: database.collection<DeadRequestDocument>('dead_token_requests'),
    tokens: database.collection<TokenDocument>('tokens'),
    singleUseRecords: database.collection<SingleUseDocument>('oauth_states'),
    sessions: database.collection<SessionDocument>('sessions'),
    meta,
    collection: (name: string) => database.collection(name),
    expiringMarks: database.collection<ExpiringDocument>('expiring_ids'),
    limits: client.db(databaseName, counting).collection<LimitDocument>('limits'),
    refusedLogins: client.db(databaseName, counting).collection<RefusedLoginsDocument>('refused_logins'),
    now,
    translate,
    run,
    isDuplicate,

    /** Retries an upsert: of two concurrent ones with the same `_id`, both may try to insert, and the second one fails. */
    async upsert(write: () => Promise<unknown>): Promise<void> {
      for (let attempt = 0; attempt < 4; attempt++) {
        try {
          await write()
          return
        } catch (error) {
          if (!isDuplicate(error)) throw error
        }
      }
      throw new Unavailable('other processes insert and delete a record all the time')
    },

    /**
     * Leases at most `limit` due records, the first in `order`: one write marks them, then a read returns the ones that
     * have our mark. Other processes may have been faster, so it repeats until it has `limit` records or none is due.
     */
    async lease<T extends object>(name: string, { due, order, mark, limit }: LeaseOrder): Promise<T[]> {
      const collection = database.collection(name)
      const leased: T[] = []
      for (let wanted = limit; wanted > 0; wanted = limit - leased.length) {
        const candidates = await collection
          .find(due, { projection: { _id: 1 }, ...latest })
          .sort(order)
          .limit(wanted)
          .toArray()
        if (candidates.length === 0) break
        const _id = { $in: candidates.map((candidate) => candidate._id) }
        await collection.updateMany({ ...due, _id }, { $set: mark })
        const marked = collection.find<T>({ leaseId: mark.leaseId, _id }).sort(order)
        leased.push(...(await marked.toArray()))
        if (candidates.length < wanted) break
      }
      return leased
    },

    /** Deletes at most `limit` records that match, but not a session that was used in between. Returns how many. */
    sweep: (name: string, filter: object, limit: number): Promise<number> =>
      run(async () => {
        const collection = database.collection(name)
        const found = await collection
          .find(filter, { projection: { _id: 1 } })
          .limit(limit)
          .toArray()
        if (found.length === 0) return 0
        const ids = found.map(({ _id }) => _id)
        const { deletedCount } = await collection.deleteMany({ _id: { $in: ids }, ...filter })
        return deletedCount
      }),

    /** A page of the records that match. The cursor is `_id`, which never changes. */
    page: <T extends { readonly _id: string }>(
      name: string,
      { filter, limit, after }: { filter: object; limit: number; after: string | null },
    ): Promise<Page<T>> =>
      run(async () => {
        const behind: object = after === null ? {} : { _id: { $gt: after } }
        const items = await database
          .collection(name)
          .find<T>({ ...filter, ...behind })
          .sort({ _id: 1 })
          .limit(limit)
          .toArray()
        return { items, next: items.length === limit ? (items.at(-1)?._id ?? null) : null }
      }),

    async ping(): Promise<void> {
      await inTime(async () => {
        // After a failed first attempt the driver never retries by itself; `connect` makes it retry.
        await client.connect()
        await database.command({ ping: 1 })
        if (isReady) await meta.updateOne({ _id: 'ping' }, { $set: { mark: now().toISOString() } }, { upsert: true })
      })
    },

    ready(): void {
      isReady = true
    },

    /** Running and later operations throw `Unavailable` at once. */
    async close(): Promise<void> {
      isClosed = true
      for (const end of underWay) end()
      await release()
    },

    /** The error code of the server, or the reason why the driver does not use it: `tooOld` or `untrusted`. */
    refusalOf(error: unknown): string {
      if (error instanceof driver.MongoServerError) return String(error.code)
      if (!(error instanceof driver.MongoServerSelectionError)) return ''
      if (error.cause instanceof driver.MongoCompatibilityError) return 'tooOld'
      // During a fail-over, one member with a bad certificate must not end a start that another member could serve.
      const servers = [...(error.reason?.servers.values() ?? [])]
      return servers.length > 0 && servers.every((server) => isOfCertificate(server.error?.cause)) ? 'untrusted' : ''
    },
  }
}

/** Whether Node does not trust the certificate of the server. After a start, the clock may still be wrong. */
function isOfCertificate(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(CERT_(?!NOT_YET_VALID)|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/.test(code)
}

/**
 * Tells whether a collection has reached a bound. It reads before the insert, and not with it: concurrent callers may
 * exceed the bound by their number.
 *
 * @param counted the documents that count
 */
export function fullness<D extends Document>(
  collection: Collection<D>,
  counted: () => Filter<D>,
): (bound: number) => Promise<boolean> {
  let counting: Promise<number> | null = null

  /** Concurrent callers share a count: a flood of refused requests would overload the server with counts of thousands. */
  function count(): Promise<number> {
    counting ??= collection.countDocuments(counted(), latest).finally(() => {
      counting = null
    })
    return counting
  }

  // The estimate costs nothing, but includes expired documents and may be wrong after the server was killed.
  return async (bound) => (await collection.estimatedDocumentCount()) >= bound && (await count()) >= bound
}
