import { createHash } from 'node:crypto'
import type { PoolClient, QueryResult } from 'pg'
import type { IdKind } from '../../../../domain/ids.ts'
import { Unavailable } from '../../../../domain/refusal.ts'
import type { Lease } from '../../store-backend.ts'
import {
  type DatabaseError,
  type Driver,
  isBlocked,
  isOfFullDisk,
  isOutage,
  isRolledBack,
  leavesConnection,
  takenKey,
} from './faults.ts'
import type { Borrowed, SharedPool, Turns } from './pool.ts'
import { longestWaitMs } from './session.ts'

/** Statements of the store. `@name` is the table `name` of the schema, `@` alone the schema, and `@id` the type of users' ids. */
export interface Queries {
  all<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>
  one<Row>(text: string, values?: readonly unknown[]): Promise<Row | undefined>
  /** Returns the number of rows that the statement has changed. */
  change(text: string, values?: readonly unknown[]): Promise<number>
}

/** The steps of one operation. */
export interface Steps extends Queries {
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
}

export type Connection = ReturnType<typeof connectionOf>

/** The connection ended before the answer, so the server may have done the operation. */
export class AnswerLost extends Unavailable {}

const maxAttempts = 4
/** Most transactions of the service end sooner. */
const lockWaitMs = 100

const idTypes: Readonly<Record<IdKind, string>> = { uuid: 'uuid', integer: 'bigint', objectid: 'text COLLATE "C"' }

/**
 * Opens a schema of a database whose pool other handles may share.
 *
 * @param ids the kind of the users' ids, until the kind in the tables is known
 */
export function connectionOf(
  driver: Driver,
  { value: pool, release }: Lease<SharedPool>,
  schema: string,
  now: () => Date,
  ids: IdKind,
) {
  const share = pool.shareOf(schema)
  const quotedSchema = driver.escapeIdentifier(schema)
  const names = new Map<string, { readonly name: string; readonly text: string }>()
  const underWay = new Set<(reason: Unavailable) => void>()
  let kindOfIds = ids
  let isReady = false
  let isClosed = false

  /**
   * A named statement is parsed and planned once for each connection. The name follows from the text, because other handles name
   * their statements on the same connections.
   */
  function statement(text: string) {
    const known = names.get(text)
    if (known !== undefined) return known
    const whole = text.replace(/@([a-z_]*)/g, (_, name) => {
      if (name === 'id') return idTypes[kindOfIds]
      return name === '' ? quotedSchema : `${quotedSchema}.${name}`
    })
    const made = { name: createHash('sha256').update(whole).digest('base64url'), text: whole }
    names.set(text, made)
    return made
  }

  function queriesOf(client: PoolClient): Queries {
    const query = (text: string, values: readonly unknown[] = []): Promise<QueryResult> => {
      for (const value of values) refuseUnstorable(value)
      const { name, text: whole } = statement(text)
      const named = pool.mayName(client) && { name }
      return client.query({ ...named, text: whole, values: [...values] })
    }
    return {
      all: async (text, values) => (await query(text, values)).rows,
      one: async (text, values) => (await query(text, values)).rows[0],
      change: async (text, values) => (await query(text, values)).rowCount ?? 0,
    }
  }

  function translated(error: unknown): unknown {
    if (!isOutage(driver, error)) return error
    if (!isOfServer(error)) return new AnswerLost('PostgreSQL does not answer', { cause: error })
    const what = isOfFullDisk(error) ? 'cannot write to its disk: make room there' : 'refuses the operation'
    return new Unavailable(`PostgreSQL ${what}`, { cause: error })
  }

  /**
   * Runs `work` on a connection of the pool. A connection whose work did not end in time is dropped, never reused: when the server
   * dies behind a pooler, connecting succeeds, and statements hang. No statement is cancelled: a cancelled COMMIT that waits for a
   * standby would become a success.
   *
   * @param turn the share of the pool that is used; absent for work that must not wait for other operations
   */
  function onClient<T>(
    work: (client: PoolClient) => Promise<T>,
    waitMs = longestWaitMs,
    turn?: Turns | undefined,
  ): Promise<T> {
    if (isClosed) return Promise.reject(new Unavailable('PostgreSQL was closed'))
    return new Promise((resolve, reject) => {
      let borrowed: Borrowed | null = null
      let isOver = false
      const timer = setTimeout(() => giveUp(new Unavailable('PostgreSQL does not answer in time')), waitMs)
      underWay.add(giveUp)

      function end(isBroken: boolean): boolean {
        if (isOver) return false
        isOver = true
        clearTimeout(timer)
        underWay.delete(giveUp)
        borrowed?.release(isBroken)
        return true
      }

      function giveUp(reason: Unavailable): void {
        if (end(true)) reject(reason)
      }

      pool.connect(Math.min(waitMs, longestWaitMs), turn).then(
        async (connected) => {
          if (isOver) return connected.release(false)
          borrowed = connected
          try {
            const result = await work(connected.client)
            if (end(false)) resolve(result)
          } catch (error) {
            if (end(!leavesConnection(driver, error))) reject(translated(error))
          }
        },
        (error) => {
          if (!end(false)) return
          if (isOfServer(error) || error instanceof Unavailable) reject(translated(error))
          else reject(new Unavailable('PostgreSQL cannot be reached', { cause: error }))
        },
      )
    })
  }

  const isOfServer = (error: unknown): boolean => error instanceof driver.DatabaseError

  /** Repeats what the server undid because of another transaction, until the end of the operation. */
  async function repeated<T>(end: number, work: (client: PoolClient) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await onClient(work, end - performance.now(), share())
      } catch (error) {
        const cause = error instanceof Unavailable ? error.cause : error
        if (!isRolledBack(driver, cause) || attempt === maxAttempts || performance.now() > end) throw error
      }
    }
  }

  function requireReady(): void {
    if (!isReady) throw new Unavailable('PostgreSQL is not prepared yet')
  }

  /** The steps of one operation, which share its time. Each takes a connection, and statements outside a transaction commit at once. */
  function operation(): Steps {
    requireReady()
    const end = performance.now() + longestWaitMs
    const run = <T>(work: (queries: Queries) => Promise<T>): Promise<T> =>
      repeated(end, (client) => work(queriesOf(client)))
    return {
      all: (text, values) => run((queries) => queries.all(text, values)),
      one: (text, values) => run((queries) => queries.one(text, values)),
      change: (text, values) => run((queries) => queries.change(text, values)),
      transaction: (work) => repeated(end, (client) => inTransaction(client, work)),
    }
  }

  /** COMMIT of a failed transaction succeeds, and its result says ROLLBACK. */
  async function inTransaction<T>(client: PoolClient, work: (queries: Queries) => Promise<T>): Promise<T> {
    await client.query('BEGIN')
    try {
      const result = await work(queriesOf(client))
      const { command } = await client.query('COMMIT')
      if (command !== 'COMMIT') throw new Unavailable('PostgreSQL undid the transaction')
      return result
    } catch (error) {
      if (isOfServer(error)) await client.query('ROLLBACK')
      throw error
    }
  }

  return {
    now,
    schema,
    /** The kind of the users' ids. */
    ids: (): IdKind => kindOfIds,
    useIds(kind: IdKind): void {
      kindOfIds = kind
      names.clear()
    },
    operation,
    all: async <Row>(text: string, values?: readonly unknown[]) => operation().all<Row>(text, values),
    one: async <Row>(text: string, values?: readonly unknown[]) => operation().one<Row>(text, values),
    change: async (text: string, values?: readonly unknown[]) => operation().change(text, values),
    transaction: async <T>(work: (queries: Queries) => Promise<T>) => operation().transaction(work),

    /** Like `transaction`, for `prepare`: the store need not be ready. */
    preparing: <T>(work: (queries: Queries) => Promise<T>): Promise<T> =>
      onClient((client) => inTransaction(client, work)),

    /**
     * Like `preparing`, for changes of tables. A change that waits for its lock holds up every later statement on the table, so it
     * waits for `lockWaitMs` only. Resolves to `false` if it was in vain.
     */
    async migrating(work: (queries: Queries) => Promise<boolean>, waitMs: number): Promise<boolean> {
      const hasty = async (queries: Queries): Promise<boolean> => {
        await queries.change(`SET LOCAL lock_timeout = ${lockWaitMs}`)
        return await work(queries)
      }
      try {
        return await onClient((client) => inTransaction(client, hasty), waitMs, pool.migrations)
      } catch (error) {
        if (error instanceof Unavailable && isBlocked(driver, error.cause)) return false
        throw error
      }
    },

    /** The unique key that a refused write found taken; `null` for another error. */
    takenKey: (error: unknown): string | null => takenKey(driver, error),

    /** The answer of the server behind an error; `null` if the server did not answer. */
    answerOf(error: unknown): DatabaseError | null {
      const answer = error instanceof Unavailable ? error.cause : error
      return answer instanceof driver.DatabaseError ? answer : null
    },

    /** Deletes at most `limit` rows that match. Returns how many. A subquery of `IN` may run once for each row, an array does not. */
    async sweep(
      table: string,
      key: string,
      { where, order }: { where: string; order: string },
      at: Date,
      limit: number,
    ) {
      const chosen = `SELECT ${key} FROM @${table} WHERE ${where} ORDER BY ${order} LIMIT $2 FOR UPDATE SKIP LOCKED`
      return operation().change(`DELETE FROM @${table} WHERE ${key} = ANY (ARRAY(${chosen})) AND ${where}`, [at, limit])
    },

    async ping(): Promise<void> {
      await onClient(async (client) => {
        const { all } = queriesOf(client)
        if (!isReady) return void (await all('SELECT 1'))
        await all(
          `INSERT INTO @meta (name, value) VALUES ('ping', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
          [now().toISOString()],
        )
      })
    },

    ready(): void {
      isReady = true
    },

    /** Running and later operations throw `Unavailable` at once. */
    async close(): Promise<void> {
      isClosed = true
      for (const giveUp of underWay) giveUp(new Unavailable('PostgreSQL was closed'))
      await release()
    },
  }
}

/** PostgreSQL takes no NUL, and the driver would make U+FFFD of a lone surrogate, so that two texts could become equal. */
function refuseUnstorable(value: unknown): void {
  if (Array.isArray(value)) for (const one of value) refuseUnstorable(one)
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
    throw new TypeError('a text with NUL or a lone surrogate cannot be stored')
  }
}
