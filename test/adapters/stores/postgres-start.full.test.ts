import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { type StoreHandle, Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { faultOf } from '../../support/fault-of.ts'
import { portcullis } from '../../support/process/command-line.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import {
  type PostgresServer,
  postgresObstacle,
  sharedPostgres,
  startPostgres,
} from '../../support/servers/postgres-server.ts'
import { goodSecret } from '../../support/services/settings.ts'
import { scratchFolder } from '../../support/services/spawned-service.ts'
import { expectUnavailable, recovers } from '../../support/stores/outages.ts'
import { everythingWorks } from '../../support/stores/store-operations.ts'

type Handle = Required<StoreHandle>

const withOptions = (url: string) => ({ url, clock: () => new Date(), warn() {} })
const open = (url: string): Promise<Handle> => postgresBackend.open(withOptions(url))

/** The message of `Unsuitable`, which the start and `portcullis storage check` have in common. */
async function refusalOf(url: string): Promise<string> {
  const handle = await open(url)
  const fault = await faultOf(recovers(() => handle.prepare()))
  await handle.close()
  expect(fault).to.be.instanceOf(Unsuitable)
  const checked = String(await faultOf(recovers(() => postgresBackend.check(withOptions(url)))))
  expect(checked).to.be.oneOf([String(fault), 'null']) // then `storage check` prepares the store
  return String(fault)
}

describe('a PostgreSQL that cannot be used', () => {
  let server: PostgresServer
  let url: string

  before(async function () {
    skipIfMissing(this, postgresObstacle())
    server = await sharedPostgres()
  })

  beforeEach(async () => {
    url = await server.newDatabase()
  })

  async function inDatabase(text: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client(url)
    await client.connect()
    const { rows } = await client.query(text)
    await client.end()
    return rows
  }

  async function prepared(): Promise<void> {
    const handle = await open(url)
    await recovers(() => handle.prepare())
    await handle.close()
  }

  /** Everything that a process could have made. */
  const things = () =>
    inDatabase(`SELECT relname::text FROM pg_class WHERE relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
      UNION SELECT nspname::text FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1`)

  const cases: Readonly<Record<string, readonly [prepare: () => Promise<string>, message: RegExp]>> = {
    'a database that does not exist': [
      async () => `${url}_none`,
      /the database in its address does not exist: create it .*or name another one in url \(database "test_\w+_none" does not exist\)/,
    ],
    'a user without the right to create the schema': [
      async () => {
        await inDatabase('CREATE ROLE visitor LOGIN')
        return url.replace('postgres@', 'visitor@')
      },
      /may not use this schema .*GRANT CREATE ON DATABASE to it \(permission denied for database test_\w+\)/,
    ],
    'a user who may not connect to the database': [
      async () => {
        await inDatabase('CREATE ROLE stranger LOGIN')
        await inDatabase(`REVOKE CONNECT ON DATABASE ${new URL(url).pathname.slice(1)} FROM PUBLIC`)
        return url.replace('postgres@', 'stranger@')
      },
      /\(permission denied for database "test_\w+"\)/,
    ],
    'a user who may not read the tables of another user': [
      async () => {
        await prepared()
        await inDatabase('CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA portcullis TO reader')
        return url.replace('postgres@', 'reader@')
      },
      /make it the owner of the schema.*\(permission denied for table meta\)/,
    ],
    'a user who does not exist': [
      async () => url.replace('postgres@', 'nobody_here@'),
      /it refuses the user in its address: create the user with LOGIN, .* \(role "nobody_here" does not exist\)/,
    ],
    'a schema with a table of another program': [
      async () => {
        await inDatabase('CREATE SCHEMA portcullis; CREATE TABLE portcullis.users (id int, nickname text)')
        return url
      },
      /the schema portcullis has tables of another program: choose an unused one with schema/,
    ],
    'a schema with a sequence of another program': [
      async () => {
        await inDatabase('CREATE SCHEMA portcullis; CREATE SEQUENCE portcullis.users')
        return url
      },
      /the schema portcullis has tables of another program/,
    ],
    'a schema with a type of another program': [
      async () => {
        await inDatabase(`CREATE SCHEMA portcullis; CREATE TYPE portcullis.users AS ENUM ('ada')`)
        return url
      },
      /the schema has objects of another program: choose an unused one with schema \(type "users" already exists\)/,
    ],
    'a schema with another program’s table meta': [
      async () => {
        await inDatabase('CREATE SCHEMA portcullis; CREATE TABLE portcullis.meta (key text, number int)')
        return url
      },
      /the tables of the schema are not those of Portcullis: .*\(column "value" does not exist\)/,
    ],
    'a table users with a column that no registration fills': [
      async () => {
        await prepared()
        await inDatabase('ALTER TABLE portcullis.users ADD nickname text NOT NULL')
        return url
      },
      /table users of the schema portcullis has columns of another program that need a value: drop nickname, or set a default/,
    ],
    'a table users that lacks a column': [
      async () => {
        await prepared()
        await inDatabase('ALTER TABLE portcullis.users DROP is_verified')
        return url
      },
      /the table users of the schema portcullis lacks is_verified: choose an unused schema, or restore a backup/,
    ],
    'another encoding than UTF8': [
      async () => {
        url = await server.newDatabase(`ENCODING 'SQL_ASCII' TEMPLATE template0`)
        return url
      },
      /the database has the encoding SQL_ASCII: create one with ENCODING 'UTF8' and name it in url/,
    ],
    'a user whose writes may be lost': [
      async () => {
        await inDatabase('CREATE ROLE hasty LOGIN SUPERUSER; ALTER ROLE hasty SET synchronous_commit = off')
        return url.replace('postgres@', 'hasty@')
      },
      /synchronous_commit is off, .*: set it to on for the server, the database or the user/,
    ],
  }

  for (const [title, [prepare, message]] of Object.entries(cases)) {
    it(`is refused for ${title}, and nothing is made there`, async () => {
      const address = await prepare()
      const before = await things()
      expect(await refusalOf(address)).to.match(message)
      expect(await things()).to.deep.equal(before)
    })
  }

  it('is refused for a server that is too old', async () => {
    const [{ server_version_num: version } = {}] = await inDatabase('SHOW server_version_num')
    const old = createServer((client) => {
      const real = connect(Number(new URL(url).port), '127.0.0.1')
      client.pipe(real)
      real.on('data', (bytes) => {
        client.write(bytes.toString('latin1').replace(String(version), '149999'), 'latin1')
      })
      for (const socket of [client, real]) socket.on('error', () => undefined)
      real.on('close', () => client.destroy())
      client.on('close', () => real.destroy())
    }).listen(0, '127.0.0.1')
    await once(old, 'listening')
    const address = new URL(url)
    address.port = `${(old.address() as AddressInfo).port}` // safe: it listens on a port
    expect(await refusalOf(address.href)).to.match(/PostgreSQL \S+.* is too old: use 15 or later/)
    expect(await things()).to.deep.equal([{ relname: 'information_schema' }, { relname: 'public' }])
    old.close()
  })

  it('accepts a table users to which another program has added columns that need no value', async () => {
    await prepared()
    await inDatabase(`ALTER TABLE portcullis.users ADD nickname text, ADD points int NOT NULL DEFAULT 0`)
    const handle = await open(url)
    await recovers(() => handle.prepare())
    await everythingWorks(handle)
    await handle.close()
  })

  it('is unavailable until its tables are made, however long that takes, and is prepared by eight handles though one dies', async () => {
    await inDatabase(`CREATE TABLE gate ();
      CREATE FUNCTION wait() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
        WHILE EXISTS (SELECT 1 FROM pg_tables WHERE tablename = 'gate') LOOP PERFORM pg_sleep(0.05); END LOOP;
      END $$;
      CREATE EVENT TRIGGER slow ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION wait()`)
    const handles = await Promise.all(Array.from({ length: 8 }, () => open(url)))
    const messages = await Promise.all(
      handles.map(async (handle) => (await expectUnavailable(() => handle.prepare())).message),
    )
    const still = 'PostgreSQL still makes or migrates its tables'
    expect(messages).to.include(still)
    expect(messages.filter((message) => message !== still)).to.satisfy((others: readonly string[]) =>
      others.every((message) => message.startsWith('another process migrates the data')),
    )
    const atWork = `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
    expect(await inDatabase(atWork), 'processes that make the tables').to.have.length(1)
    expect(await things(), 'nothing is made by halves').to.have.length(3)
    await inDatabase('DROP TABLE gate')
    await Promise.all(handles.map((handle) => recovers(() => handle.prepare())))
    for (const handle of handles) await handle.ping()
    expect(await inDatabase('SELECT value FROM portcullis.meta WHERE name = $$schema$$')).to.have.length(1)
    await Promise.all(handles.map((handle) => handle.close()))
  })

  it('ends commands and the start with exit code 2 and one sentence, with the settings', async () => {
    const folder = scratchFolder()
    const env = {
      PORTCULLIS_STORES__USERS__KIND: 'postgres',
      PORTCULLIS_STORES__USERS__URL: `${url}_none`,
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_HTTP__PORT: '0',
    }
    const refused =
      /^portcullis: stores\.users, stores\.sessions, stores\.tokens: PostgreSQL: the database in its address does not exist: .*\)$/m
    for (const command of ['serve', 'storage check', 'user list']) {
      const { code, err } = await portcullis(command.split(' '), { cwd: folder, env })
      expect([command, code]).to.deep.equal([command, 2])
      expect(err).to.match(command === 'user list' ? /stores\.users: PostgreSQL: the database/ : refused)
      expect(err).to.not.match(/\bat .*\.js:\d+/)
    }
  })

  describe('on a server of its own', () => {
    let own: PostgresServer
    let address: string

    before(async () => {
      own = await startPostgres(['-c', 'fsync=off'])
      const rules = 'host all postgres 127.0.0.1/32 trust\nhost all locked 127.0.0.1/32 scram-sha-256\n'
      writeFileSync(join(own.folder, 'pg_hba.conf'), rules)
      await own.query('SELECT pg_reload_conf()')
      address = await own.newDatabase()
      await own.query(`CREATE ROLE locked LOGIN PASSWORD 'right'; CREATE ROLE banned LOGIN`)
      await own.query(`GRANT CREATE ON DATABASE ${new URL(address).pathname.slice(1)} TO locked`)
    })

    after(() => own?.destroy())

    const as = (user: string) => address.replace('postgres@', `${user}@`)

    it('is refused for a wrong password, a missing one, and a user whom pg_hba.conf does not list', async () => {
      expect(await refusalOf(as('locked:wrong'))).to.match(
        /it refuses the user or the password in its address: correct them in url \(password authentication failed for user "locked"\)/,
      )
      expect(await refusalOf(as('locked'))).to.include(
        'it asks for a password, and its address has none: add it in url',
      )
      expect(await refusalOf(as('banned'))).to.match(
        /without TLS: write \?sslmode=require behind its address, or allow the connection in pg_hba\.conf \(no pg_hba\.conf entry/,
      )
      const handle = await open(as('locked:right'))
      await recovers(() => handle.prepare())
      await handle.close()
    })

    it('is unavailable while no connection is left, and its own sentence says so', async () => {
      await own.query('ALTER ROLE locked CONNECTION LIMIT 0')
      const handle = await open(as('locked:right'))
      const { message, cause } = await expectUnavailable(() => handle.prepare())
      expect([message, (cause as Error).message]).to.deep.equal([
        'PostgreSQL refuses the operation',
        'too many connections for role "locked"',
      ])
      await own.query('ALTER ROLE locked CONNECTION LIMIT -1')
      await recovers(() => handle.prepare())
      await handle.close()
    })

    it('is refused while it is a replica', async () => {
      await own.stop()
      writeFileSync(join(own.folder, 'standby.signal'), '')
      await own.restart()
      expect(await refusalOf(address)).to.include('the server is a replica: name the primary in url')
    })
  })
})
