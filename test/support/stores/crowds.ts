import driver from 'better-sqlite3'
import pg from 'pg'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { connectWriter } from '../../../src/adapters/stores/sqlite/connection.ts'
import { createFile, pathIn } from '../../../src/adapters/stores/sqlite/data-file.ts'
import { openSqlite } from '../../../src/adapters/stores/sqlite/sqlite.ts'
import type { UserStore } from '../../../src/application/ports/stores/user-store.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { startPostgres } from '../servers/postgres-server.ts'
import { scratchFolder } from '../services/spawned-service.ts'

/** The time of the first user of a crowd. Each later one came a second later, but a tenth of them at the same moment. */
export const firstCame = Date.UTC(2024, 0, 1)

/** A store with many users who differ in everything that a search compares. */
export interface Crowd {
  readonly users: UserStore
  close(): Promise<unknown>
}

/** Columns by the number `i` of a user. The other columns are those of the first user. */
const columnsBy = (time: (seconds: string) => string, flag: (is: string) => string) => ({
  is_active: flag('i % 1000 <> 7'),
  is_superuser: flag('i % 10000 = 11'),
  is_verified: flag('i % 3 <> 0'),
  created_at: time('CASE WHEN i % 10 = 0 THEN 0 ELSE i END'),
  last_login_at: `CASE WHEN i % 4 = 0 THEN NULL ELSE ${time('i * 7919 % 1000003')} END`,
})
const hasFactor = 'i % 500 = 3'

export async function sqliteCrowd(count: number): Promise<Crowd> {
  const dataFolder = scratchFolder()
  const clock = () => new Date()
  const db = connectWriter(driver, { ...(await createFile(pathIn(dataFolder), console.warn)), isSmall: false })
  db.close()
  const store = await openSqlite({ dataFolder, clock, warn: console.warn })
  await store.prepare()
  await store.users.insert(aUser(), [])
  const writing = new driver(pathIn(dataFolder))
  writing.pragma('synchronous = OFF')
  writing.pragma('cache_size = -1048576')
  const email = `substr(printf('%08x', (i * 2654435761) % 4294967296), 1, 8) || i || '@example.com'`
  const columns = {
    row_id: 'i',
    id: `printf('%08x-0000-7000-8000-%012x', i, i)`,
    document: `json_set(first.document, '$.email', ${email}, '$.oauthAccounts', json('[]'))`,
    has_factor: `(${hasFactor})`,
    ...columnsBy(
      (seconds) => `${firstCame} + 1000 * (${seconds})`,
      (is) => `(${is})`,
    ),
  }
  const others = writing
    .prepare(`SELECT name FROM pragma_table_xinfo('users') WHERE hidden = 0`)
    .pluck()
    .all()
    .map(String)
    .filter((name) => !(name in columns))
  writing.exec(`
    WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})
    INSERT INTO users (${[...Object.keys(columns), ...others].join(', ')})
    SELECT ${[...Object.values(columns), ...others.map((name) => `first.${name}`)].join(', ')}
    FROM numbers, (SELECT * FROM users LIMIT 1) AS first`)
  const address = `document ->> 'email'`
  writing.exec(`INSERT OR IGNORE INTO user_keys (kind, key, user_row) SELECT 'email', ${address}, row_id FROM users`)
  writing.exec(
    `INSERT INTO user_keys (kind, key, user_row) SELECT 'field:name', substr(${address}, 3, 8) || row_id, row_id FROM users`,
  )
  writing.pragma('wal_checkpoint(TRUNCATE)')
  writing.close()
  return { users: store.users, close: () => store.close() }
}

/** A server whose databases have crowds. */
export async function postgresCrowds() {
  const server = await startPostgres()
  return {
    async crowd(count: number): Promise<Crowd> {
      const url = await server.newDatabase()
      const store = await postgresBackend.open({ url, clock: () => new Date(), warn: console.warn })
      await store.prepare()
      await store.users.insert(aUser(), [])
      const client = new pg.Client(url)
      await client.connect()
      const email = `lpad(to_hex((i * 2654435761) % 4294967296), 8, '0') || i || '@example.com'`
      const own = columnsBy(
        (seconds) => `timestamptz '${new Date(firstCame).toISOString()}' + (${seconds}) * interval '1 second'`,
        (is) => is,
      )
      const columns = {
        user_id: `(lpad(to_hex(i), 8, '0') || '-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid`,
        email,
        email_key: email,
        factors: `CASE WHEN ${hasFactor} THEN '{"totp":null,"passkeys":[],"recovery":null,"resetAt":null}' END`,
        fields: 'NULL',
        oauth_accounts: `'[]'`,
        ...own,
      }
      const { rows } = await client.query<{ name: string }>(
        `SELECT attname AS name FROM pg_attribute
        WHERE attrelid = 'portcullis.user_private'::regclass AND attnum > 0 AND NOT attisdropped`,
      )
      const others = rows.map(({ name }) => name).filter((name) => !(name in columns))
      await client.query(`
        INSERT INTO portcullis.user_private (${[...Object.keys(columns), ...others].join(', ')})
        SELECT ${[...Object.values(columns), ...others.map((name) => `first.${name}`)].join(', ')}
        FROM generate_series(1::bigint, ${count}) AS i, (SELECT * FROM portcullis.user_private LIMIT 1) AS first`)
      await client.query(`
        INSERT INTO portcullis.field_claims (field, key, user_id)
        SELECT 'name', substr(email_key, 3, 8) || user_id, user_id FROM portcullis.user_private`)
      await client.query('VACUUM ANALYZE')
      await client.query('CHECKPOINT')
      await client.end()
      return { users: store.users, close: () => store.close() }
    },
    end: () => server.destroy(),
  }
}
