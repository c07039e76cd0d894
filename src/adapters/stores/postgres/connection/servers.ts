import type { ClientBase, Pool, PoolClient, PoolConfig } from 'pg'
import { type Address, type Host, tlsOf } from './address.ts'
import type { Driver } from './faults.ts'
import { beginSession } from './session.ts'

const int8 = 20
const findPrimaryMs = 1_000

export type Servers = ReturnType<typeof openServers>

/**
 * Connections to the one server of an address, or to the primary of several. A failed connection makes it look for the primary
 * again.
 */
export function openServers(driver: Driver, address: Address, maxConnections: number) {
  const { user, password, hosts, database } = address
  const options: PoolConfig = {
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    database,
    ssl: tlsOf(address),
    max: maxConnections,
    application_name: 'portcullis',
    connectionTimeoutMillis: 1_500,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    types: {
      // Numbers of this store are far below 2^53.
      getTypeParser: (oid: number, format?: 'text') =>
        oid === int8 ? Number : driver.types.getTypeParser(oid, format ?? 'text'),
    } as never, // the declared type lacks the overloads of the driver
  }
  const direct = new WeakSet<ClientBase>()
  const [only, ...others] = hosts
  let current: Promise<Pool> | null = others.length === 0 && only !== undefined ? Promise.resolve(poolOf(only)) : null

  async function begin(client: ClientBase): Promise<void> {
    const { isDirect, isReplica } = await beginSession(client)
    if (isReplica && others.length > 0) throw new Error('a replica')
    if (isDirect) direct.add(client)
  }

  function poolOf(host: Host): Pool {
    const pool = new driver.Pool({ ...options, ...host, onConnect: begin })
    // A connection ended. Its operation fails by itself, and the next one opens another connection.
    pool.on('connect', (client) => client.on('error', () => undefined))
    pool.on('error', () => undefined)
    return pool
  }

  /** Asks all hosts at once. Throws what each of them answered if none is the primary. */
  async function poolOfPrimary(): Promise<Pool> {
    const asked = hosts.map(async (host) => {
      const client = new driver.Client({ ...options, ...host, connectionTimeoutMillis: findPrimaryMs })
      client.on('error', () => undefined)
      try {
        await client.connect()
        await begin(client)
        return host
      } finally {
        client.end().catch(() => undefined)
      }
    })
    return poolOf(await Promise.any(asked))
  }

  function forget(pool: Promise<Pool>): void {
    if (current !== pool) return
    current = null
    pool.then((old) => old.end()).catch(() => undefined)
  }

  return {
    async connect(): Promise<PoolClient> {
      for (let attempt = 1; ; attempt++) {
        current ??= poolOfPrimary()
        const pool = current
        try {
          return await (await pool).connect()
        } catch (error) {
          const isBusy = error instanceof Error && error.message === allInUse
          if (others.length === 0 || isBusy) throw error
          forget(pool)
          if (attempt === 2 || error instanceof AggregateError) throw error
        }
      }
    },

    /** Whether no pooler is between, so that named statements and the session's own settings stay with this connection. */
    isDirect: (client: ClientBase): boolean => direct.has(client),

    async end(): Promise<void> {
      await (await current)?.end()
    },
  }
}

/** The message of the driver's pool when no connection has become free in time. */
const allInUse = 'timeout exceeded when trying to connect'
