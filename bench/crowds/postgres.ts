import pg from 'pg'
import { postgresBackend } from '../../src/adapters/stores/postgres/postgres.ts'
import { emailKey } from '../../src/domain/email.ts'
import { startPostgres } from '../../test/support/servers/postgres-server.ts'
import { asSuperuser, type Crowd, type Crowds, someone } from './crowd.ts'

const usersPerStatement = 50_000

/** Copies the row of the first user with other ids and addresses, so that the other columns need no list here. */
const copies = (table: string, id: string) => `
  INSERT INTO portcullis.${table} SELECT made.*
  FROM portcullis.${table} AS first, unnest($2::uuid[], $3::text[], $4::text[]) AS given (id, email, email_key),
    LATERAL jsonb_populate_record(
      first, jsonb_build_object('${id}', given.id, 'email', given.email, 'email_key', given.email_key)
    ) AS made
  WHERE first.${id} = $1`

/** Each crowd has a database of its own, on a server with the defaults of PostgreSQL. */
export async function postgresCrowds(): Promise<Crowds> {
  const server = await startPostgres()

  async function create(count: number, hash: string): Promise<Crowd> {
    const url = await server.newDatabase()
    const open = () => postgresBackend.open({ url, clock: () => new Date(), warn: console.warn })
    const now = new Date()
    const superuser = asSuperuser(someone(hash, now))
    const first = someone(hash, now)
    const handle = await open()
    await handle.prepare()
    for (const user of [superuser, first]) await handle.users.insert(user, [])
    await handle.close()

    const everybody = [superuser, first]
    const client = new pg.Client(url)
    await client.connect()
    while (everybody.length < count) {
      const some = Array.from({ length: Math.min(usersPerStatement, count - everybody.length) }, () =>
        someone(hash, now),
      )
      const columns = [
        some.map(({ id }) => id),
        some.map(({ email }) => email),
        some.map(({ email }) => emailKey(email)),
      ]
      await client.query(copies('users', 'id'), [first.id, ...columns])
      await client.query(copies('user_private', 'user_id'), [first.id, ...columns])
      everybody.push(...some)
    }
    await client.query('VACUUM ANALYZE')
    await client.query('CHECKPOINT')
    await client.end()
    return {
      ids: everybody.map(({ id }) => id),
      emails: everybody.map(({ email }) => email),
      superuser,
      start: { env: { PORTCULLIS_STORES__USERS__KIND: 'postgres', PORTCULLIS_STORES__USERS__URL: url } },
      open,
    }
  }

  const { processes: serverProcesses, destroy: end } = server
  return { suffix: ' in PostgreSQL', readsPerRound: 2_000, create, serverProcesses, end }
}
