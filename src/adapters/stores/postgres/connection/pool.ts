import type { ClientBase, PoolClient } from 'pg'
import { Unavailable } from '../../../../domain/refusal.ts'
import { semaphore } from '../../../../lib/semaphore.ts'
import { Unsuitable } from '../../store-backend.ts'
import { addressOf } from './address.ts'
import type { Driver } from './faults.ts'
import { openServers } from './servers.ts'

/** Of all processes that serve together. A server with its defaults has 97. */
const mostOfAll = 20
const leastOfOne = 4
/** A server keeps 26 KB for each named statement of a schema, in each connection. */
const mostSchemasWithNames = 20

export interface Borrowed {
  readonly client: PoolClient
  /** Called once. A broken connection is closed. */
  release(isBroken: boolean): void
}

export type Turns = ReturnType<typeof semaphore>
export type SharedPool = ReturnType<typeof openPool>

/** One pool serves any number of schemas of its database. */
export function openPool(driver: Driver, url: string, processes = 1) {
  const maxConnections = Math.max(leastOfOne, Math.floor(mostOfAll / processes))
  /** The limit of a schema in a shared pool, and of all migrations: operations that wait for locks keep their connections. */
  const mostOfOneSchema = Math.floor(maxConnections / 4)
  const address = addressOf(url)
  if (address === null) {
    throw new Unsuitable('the address of PostgreSQL must name a database, like postgres://127.0.0.1/portcullis')
  }
  const servers = openServers(driver, address, maxConnections)
  const turns = new Map<string, Turns>()

  return {
    /** The share of a schema in the pool, for its operations. Called once for each handle. */
    shareOf(schema: string): () => Turns | undefined {
      const share = turns.get(schema) ?? semaphore(mostOfOneSchema)
      turns.set(schema, share)
      return () => (turns.size > 1 ? share : undefined)
    },

    /** The share of all migrations, so that new tenants leave connections to the others. */
    migrations: semaphore(mostOfOneSchema),

    /** Throws `Unavailable` if the turn does not come within this time. */
    async connect(milliseconds: number, turn?: Turns): Promise<Borrowed> {
      if (turn !== undefined && !(await turn.acquire(milliseconds))) {
        throw new Unavailable('too many operations wait for PostgreSQL')
      }
      try {
        const client = await servers.connect()
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

    /** Whether statements of this connection may have names. Behind a pooler, the next one may reach another connection. */
    mayName: (client: ClientBase): boolean => servers.isDirect(client) && turns.size <= mostSchemasWithNames,

    end: servers.end,
  }
}
