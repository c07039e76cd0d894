import type { PoolClient } from 'pg'
import { Unavailable } from '../../../../domain/refusal.ts'
import { semaphore } from '../../../../lib/semaphore.ts'
import { Unsuitable } from '../../store-backend.ts'
import { addressOf, tlsOf } from './address.ts'
import type { Driver } from './faults.ts'

const maxConnections = 20
/** The limit of a schema in a shared pool, because operations that wait for locked rows keep their connections. */
const mostOfOneSchema = maxConnections / 4
const int8 = 20

export interface Borrowed {
  readonly client: PoolClient
  /** Called once. A broken connection is closed. */
  release(isBroken: boolean): void
}

export type SharedPool = ReturnType<typeof openPool>

/** One pool serves any number of schemas of its database. */
export function openPool(driver: Driver, url: string) {
  const address = addressOf(url)
  if (address === null) {
    throw new Unsuitable('the address of PostgreSQL must name a database, like postgres://127.0.0.1/portcullis')
  }
  const { user, password, host, port, database } = address
  const pool = new driver.Pool({
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    host,
    port,
    database,
    ssl: tlsOf(address),
    max: maxConnections,
    application_name: 'portcullis',
    connectionTimeoutMillis: 1_500,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    // A database or a role may have other defaults. The driver reads dates of this style alone, and a transaction here reads
    // after its lock what others have committed before it.
    options: '-c datestyle=ISO -c default_transaction_isolation=read\\ committed',
    // The server ends what the client has given up.
    statement_timeout: 2_000,
    lock_timeout: 1_500,
    idle_in_transaction_session_timeout: 4_000,
    types: {
      // Numbers of this store are far below 2^53.
      getTypeParser: (oid: number, format?: 'text') =>
        oid === int8 ? Number : driver.types.getTypeParser(oid, format ?? 'text'),
    } as never, // the declared type lacks the overloads of the driver
  })
  // A connection ended. Its operation fails by itself, and the next one opens another connection.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('error', () => undefined)
  const turns = new Map<string, ReturnType<typeof semaphore>>()

  return {
    /** Called once for each schema before its first connection. */
    join(schema: string): void {
      if (!turns.has(schema)) turns.set(schema, semaphore(mostOfOneSchema))
    },

    /**
     * Throws `Unavailable` if the schema gets no connection within this time.
     *
     * @param schema `null` takes a connection beside those of the schemas
     */
    async connect(schema: string | null, milliseconds: number): Promise<Borrowed> {
      const turn = schema !== null && turns.size > 1 ? turns.get(schema) : undefined
      if (turn !== undefined && !(await turn.acquire(milliseconds))) {
        throw new Unavailable(`too many operations of the schema ${schema} wait for PostgreSQL`)
      }
      try {
        const client = await pool.connect()
        return {
          client,
          release(isBroken) {
            client.release(isBroken)
            turn?.release()
          },
        }
      } catch (error) {
        turn?.release()
        throw error
      }
    },

    end: () => pool.end(),
  }
}
