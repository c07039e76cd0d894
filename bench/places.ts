import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { derivedKeys } from '../src/adapters/crypto/derived-keys.ts'
import { startPostgres } from '../test/support/servers/postgres-server.ts'
import { type StartedService, secret, startRedis } from './processes.ts'

type Variables = Readonly<Record<string, string>>

/** Stores that the service and a bare application use together. */
export interface Place {
  /** Follows the name of a measurement. */
  readonly suffix: string
  /** Settings of the service. */
  readonly env: Variables
  /** Variables of a bare application beside the service. */
  bareEnv(service: StartedService): Variables
  /** The hash of some user. */
  someHash(service: StartedService): Promise<string>
  end(): Promise<void>
}

const jwtKey = () => derivedKeys(secret).jwtKey.export().toString('base64')
const anyHash = 'SELECT password_hash FROM'

export async function inSqlite(): Promise<Place> {
  const fileOf = ({ dataFolder }: StartedService) => join(dataFolder, 'portcullis.sqlite')
  return {
    suffix: '',
    env: {},
    bareEnv: (service) => ({ BARE_STORE: 'sqlite', BARE_FILE: fileOf(service), BARE_JWT_KEY: jwtKey() }),
    async someHash(service) {
      const db = new Database(fileOf(service), { readonly: true })
      const hash = db.prepare<[], string>(`${anyHash} users LIMIT 1`).pluck().get()
      db.close()
      return known(hash)
    },
    end: async () => undefined,
  }
}

/** Users in SQLite, sessions in Redis. */
export async function withRedis(cores: string): Promise<Place> {
  const [sqlite, redis] = [await inSqlite(), await startRedis(cores)]
  return {
    ...sqlite,
    env: { PORTCULLIS_STORES__SESSIONS__KIND: 'redis', PORTCULLIS_STORES__SESSIONS__URL: redis.url },
    bareEnv: (service) => ({ ...sqlite.bareEnv(service), BARE_REDIS: redis.url }),
    end: redis.end,
  }
}

/** A server with the defaults of PostgreSQL, on the processors of this process. */
export async function inPostgres(): Promise<Place> {
  const server = await startPostgres()
  const url = await server.newDatabase()
  return {
    suffix: ', in PostgreSQL',
    env: { PORTCULLIS_STORES__USERS__KIND: 'postgres', PORTCULLIS_STORES__USERS__URL: url },
    bareEnv: () => ({ BARE_STORE: 'postgres', BARE_POSTGRES: url, BARE_JWT_KEY: jwtKey() }),
    async someHash() {
      const client = new pg.Client(url)
      await client.connect()
      const { rows } = await client.query(`${anyHash} portcullis.user_private LIMIT 1`)
      await client.end()
      return known(rows[0]?.password_hash)
    },
    end: server.destroy,
  }
}

function known(hash: string | undefined): string {
  if (hash === undefined) throw new Error('nobody has a password')
  return hash
}
