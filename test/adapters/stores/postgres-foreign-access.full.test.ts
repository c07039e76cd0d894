import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { rolesOf } from '../../../src/adapters/stores/postgres/roles.ts'
import { Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { faultOf } from '../../support/fault-of.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { postgresObstacle, sharedPostgres } from '../../support/servers/postgres-server.ts'
import { recovers } from '../../support/stores/outages.ts'

const run = randomUUID().slice(0, 8)
const [service, app, group] = [`service_${run}`, `app_${run}`, `group_${run}`]
const grabbing = `CREATE FUNCTION shop.grabbing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; ALTER FUNCTION shop.grabbing() OWNER TO ${app};`
const grab = `CREATE FUNCTION shop.grab() RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'; ALTER FUNCTION shop.grab() OWNER TO ${app};`
const key = `CREATE TABLE shop.child (user_id uuid REFERENCES portcullis.users ON DELETE CASCADE); ALTER TABLE shop.child OWNER TO ${app};`
const rolesHelp = `run the SQL of "portcullis storage roles --app ${app}"`

interface Case {
  /** By a superuser of the server. */
  readonly act: string
  readonly way: string
  readonly help: string
  readonly isControl: boolean
}

const reads = (act: string, way: string, help: string): Case => ({ act, way, help, isControl: false })
const controls = (act: string, way: string, help: string): Case => ({ act, way, help, isControl: true })

/** While the service owns `users`. */
const cases: Readonly<Record<string, Case>> = {
  'REFERENCES on users': controls(
    `GRANT SELECT, REFERENCES (id) ON portcullis.users TO ${app}`,
    `${app} may REFERENCES on portcullis.users`,
    rolesHelp,
  ),
  'TRIGGER on users': controls(
    `GRANT TRIGGER ON portcullis.users TO ${app}`,
    `${app} may TRIGGER on portcullis.users`,
    rolesHelp,
  ),
  'a foreign key that stayed after a REVOKE': controls(
    key,
    `${app} owns shop.child, whose foreign key child_user_id_fkey refers to portcullis.users`,
    rolesHelp,
  ),
  'a trigger on users that stayed after a REVOKE': controls(
    `${grabbing} CREATE TRIGGER act AFTER DELETE ON portcullis.users FOR EACH ROW EXECUTE FUNCTION shop.grabbing()`,
    `${app} owns shop.grabbing(), which the trigger act on portcullis.users uses`,
    'DROP TRIGGER act on portcullis.users',
  ),
  'a rule': controls(
    `${grab} CREATE RULE act AS ON DELETE TO portcullis.sessions DO ALSO SELECT shop.grab()`,
    `${app} owns shop.grab(), which the rule act on portcullis.sessions uses`,
    'DROP RULE act on portcullis.sessions',
  ),
  'a policy': controls(
    `${grab} CREATE POLICY act ON portcullis.tokens USING (shop.grab())`,
    `${app} owns shop.grab(), which the policy act on portcullis.tokens uses`,
    'DROP POLICY act on portcullis.tokens',
  ),
  'an index over its function': controls(
    `${grab} CREATE INDEX act ON portcullis.meta ((shop.grab()))`,
    `${app} owns shop.grab(), which the index portcullis.act uses`,
    'DROP INDEX portcullis.act',
  ),
  'a check': controls(
    `${grab} ALTER TABLE portcullis.meta ADD CONSTRAINT act CHECK (shop.grab())`,
    `${app} owns shop.grab(), which the table constraint act on portcullis.meta uses`,
    'ALTER TABLE portcullis.meta DROP CONSTRAINT act',
  ),
  'a default': controls(
    `${grab} ALTER TABLE portcullis.outbox ALTER dead_at SET DEFAULT CASE WHEN shop.grab() THEN now() END`,
    `${app} owns shop.grab(), which the default value for portcullis.outbox.dead_at uses`,
    'ALTER TABLE portcullis.outbox ALTER dead_at DROP DEFAULT',
  ),
  'a column of its type': controls(
    `CREATE DOMAIN shop.act AS int; ALTER DOMAIN shop.act OWNER TO ${app}; ALTER TABLE portcullis.users ADD act shop.act`,
    `${app} owns shop.act, which the table column portcullis.users.act uses`,
    'ALTER TABLE portcullis.users DROP COLUMN act',
  ),
  'an ancestor': controls(
    `CREATE TABLE shop.act (password_hash text); ALTER TABLE shop.act OWNER TO ${app}; ALTER TABLE portcullis.user_private INHERIT shop.act`,
    `${app} owns shop.act, which the table portcullis.user_private uses`,
    'ALTER TABLE portcullis.user_private NO INHERIT shop.act',
  ),
  'statistics over its function': controls(
    `${grab} CREATE STATISTICS portcullis.act ON (shop.grab()), email FROM portcullis.user_private`,
    `${app} owns shop.grab(), which the statistics object portcullis.act uses`,
    'DROP STATISTICS portcullis.act',
  ),
  'an heir': controls(
    `CREATE TABLE shop.heir () INHERITS (portcullis.user_private); ALTER TABLE shop.heir OWNER TO ${app}`,
    `${app} owns shop.heir, an heir of portcullis.user_private`,
    'DROP TABLE shop.heir',
  ),
  'the right to write': controls(
    `GRANT INSERT, UPDATE ON portcullis.user_private, portcullis.tokens TO ${app}`,
    `${app} may INSERT, UPDATE on portcullis.tokens, portcullis.user_private`,
    `REVOKE INSERT, UPDATE ON portcullis.tokens, portcullis.user_private FROM ${app}`,
  ),
  'the right to write one column': controls(
    `GRANT UPDATE (password_hash) ON portcullis.user_private TO PUBLIC`,
    'PUBLIC may UPDATE on portcullis.user_private',
    'REVOKE UPDATE ON portcullis.user_private FROM PUBLIC',
  ),
  'the right to create objects in the schema': controls(
    `GRANT ALL ON SCHEMA portcullis TO ${app}`,
    `${app} may create objects in the schema portcullis`,
    `REVOKE CREATE ON SCHEMA portcullis FROM ${app}`,
  ),
  'the schema': controls(
    `GRANT ALL ON SCHEMA portcullis TO ${service}; ALTER SCHEMA portcullis OWNER TO ${app}; GRANT ALL ON SCHEMA portcullis TO ${service}`,
    `${app} owns the schema portcullis`,
    `ALTER SCHEMA portcullis OWNER TO ${service}`,
  ),
  'a table in the schema': controls(
    `ALTER TABLE portcullis.sessions OWNER TO ${app}`,
    `${app} owns portcullis.sessions`,
    `ALTER TABLE portcullis.sessions OWNER TO ${service}`,
  ),
  'the table of the hashes': controls(
    `ALTER TABLE portcullis.user_private OWNER TO ${app}`,
    `${app} owns portcullis.user_private`,
    `ALTER TABLE portcullis.user_private OWNER TO ${service}`,
  ),
  'a function that writes users': controls(
    `ALTER FUNCTION portcullis.remove_user OWNER TO ${app}`,
    `${app} owns portcullis.remove_user(anyelement)`,
    `ALTER FUNCTION portcullis.remove_user(anyelement) OWNER TO ${service}`,
  ),
  'a function in the schema': controls(
    `CREATE FUNCTION portcullis.remove_user(uuid) RETURNS boolean LANGUAGE sql AS 'SELECT true';
     ALTER FUNCTION portcullis.remove_user(uuid) OWNER TO ${app}; REVOKE ALL ON FUNCTION portcullis.remove_user(uuid) FROM PUBLIC, ${app}`,
    `${app} owns portcullis.remove_user(uuid)`,
    'DROP FUNCTION portcullis.remove_user(uuid)',
  ),
  'the functions that write users, after a restore without rights': controls(
    'GRANT EXECUTE ON FUNCTION portcullis.remove_user(anyelement) TO PUBLIC',
    'PUBLIC may call portcullis.remove_user(anyelement)',
    'REVOKE EXECUTE ON FUNCTION portcullis.remove_user(anyelement) FROM PUBLIC',
  ),
  'an event trigger': controls(
    `CREATE FUNCTION shop.event() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
     CREATE EVENT TRIGGER act ON ddl_command_end EXECUTE FUNCTION shop.event(); ALTER FUNCTION shop.event() OWNER TO ${app}`,
    `${app} owns shop.event(), which the event trigger act calls`,
    'DROP EVENT TRIGGER act',
  ),
  'default privileges to write': controls(
    `ALTER DEFAULT PRIVILEGES FOR ROLE ${service} GRANT SELECT, REFERENCES ON TABLES TO ${app}`,
    `${app} gets REFERENCES, SELECT on each new table of ${service}`,
    `ALTER DEFAULT PRIVILEGES FOR ROLE ${service} REVOKE ALL ON TABLES FROM ${app}`,
  ),
  'default privileges to call functions': controls(
    `ALTER DEFAULT PRIVILEGES FOR ROLE ${service} GRANT EXECUTE ON FUNCTIONS TO ${app}`,
    `${app} gets EXECUTE on each new function of ${service}`,
    `ALTER DEFAULT PRIVILEGES FOR ROLE ${service} REVOKE ALL ON FUNCTIONS FROM ${app}`,
  ),
  'default privileges to create objects': controls(
    `ALTER DEFAULT PRIVILEGES FOR ROLE ${service} GRANT ALL ON SCHEMAS TO ${app}`,
    `${app} gets CREATE on each new schema of ${service}`,
    `ALTER DEFAULT PRIVILEGES FOR ROLE ${service} REVOKE ALL ON SCHEMAS FROM ${app}`,
  ),
  'default privileges to read': reads(
    `ALTER DEFAULT PRIVILEGES FOR ROLE ${service} IN SCHEMA portcullis GRANT SELECT ON TABLES TO ${app}`,
    `${app} gets SELECT on each new table of ${service}`,
    `ALTER DEFAULT PRIVILEGES FOR ROLE ${service} IN SCHEMA portcullis REVOKE ALL ON TABLES FROM ${app}`,
  ),
  'the right to read hashes': reads(
    `GRANT SELECT (password_hash) ON portcullis.user_private TO ${app}`,
    `${app} may SELECT on portcullis.user_private`,
    `REVOKE SELECT ON portcullis.user_private FROM ${app}`,
  ),
  'a publication': reads(
    `CREATE PUBLICATION act FOR TABLE portcullis.user_private; ALTER PUBLICATION act OWNER TO ${app}`,
    `${app} owns the publication act of portcullis.user_private`,
    'DROP PUBLICATION act',
  ),
  'a membership': controls(
    `GRANT ${service} TO ${app}`,
    `${app} is a member of ${service}`,
    `REVOKE ${service} FROM ${app}`,
  ),
  'a membership by way of a group': controls(
    `GRANT ${service} TO ${group}; GRANT ${group} TO ${app}`,
    `${group} is a member of ${service}`,
    `REVOKE ${service} FROM ${group}`,
  ),
  'users that belong to the app': controls(
    `ALTER TABLE portcullis.users OWNER TO ${app}`,
    `${app} owns portcullis.users`,
    rolesHelp,
  ),
  'users that belong to a role that the service is no member of': controls(
    `ALTER TABLE portcullis.users OWNER TO ${group}`,
    `${group} owns portcullis.users`,
    `GRANT ${group} TO ${service}`,
  ),
}

describe('the ways of other roles to the tables in PostgreSQL', () => {
  let url: string
  let owner: pg.Client

  const own = () => ({
    url: url.replace('postgres@', `${service}@`),
    clock: () => new Date(),
    warn() {},
  })
  const checked = () => recovers(() => postgresBackend.check(own()))
  const prepared = async () => {
    const handle = await postgresBackend.open(own())
    return await faultOf(recovers(() => handle.prepare()).finally(() => handle.close()))
  }
  /** The SQL of `storage roles`, without what only psql knows. */
  const share = () => owner.query(rolesOf(own(), app, true).replace(/^\\.*$/m, ''))

  before(async function () {
    skipIfMissing(this, postgresObstacle())
    const server = await sharedPostgres()
    url = await server.newDatabase()
    const database = new URL(url).pathname.slice(1)
    owner = new pg.Client(url)
    await owner.connect()
    await owner.query(`CREATE ROLE ${service} LOGIN; CREATE ROLE ${app} LOGIN; CREATE ROLE ${group};
      GRANT CREATE ON DATABASE ${database} TO ${service}, ${app}`)
    await owner.query('SET search_path = pg_catalog')
  })

  after(async () => {
    await owner?.end()
  })

  beforeEach(async () => {
    await owner.query(`DROP SCHEMA IF EXISTS shop CASCADE; DROP SCHEMA IF EXISTS portcullis CASCADE;
      REVOKE ${service}, ${group} FROM ${app}; REVOKE ${service} FROM ${group}; REVOKE ${group} FROM ${service}`)
    await owner.query(`CREATE SCHEMA shop; GRANT USAGE, CREATE ON SCHEMA shop TO ${app}`)
    expect(await prepared()).to.equal(null)
    expect(await checked()).to.deep.equal([])
  })

  it('are refused before the first start makes a table, if default privileges would open them', async () => {
    await owner.query(`DROP SCHEMA portcullis CASCADE;
      ALTER DEFAULT PRIVILEGES FOR ROLE ${service} GRANT SELECT, REFERENCES ON TABLES TO ${app}`)
    const fault = await prepared()
    expect(fault).to.be.instanceOf(Unsuitable)
    const help = `ALTER DEFAULT PRIVILEGES FOR ROLE ${service} REVOKE ALL ON TABLES FROM ${app}`
    expect(String(fault)).to.include(`: ${help}`)
    expect((await owner.query(`SELECT FROM pg_class WHERE relname = 'user_private'`)).rowCount).to.equal(0)
    await owner.query(help)
    expect(await prepared()).to.equal(null)
  })

  describe('while the service owns users', () => {
    for (const [title, { act, way, help, isControl }] of Object.entries(cases)) {
      it(`are found for ${title}, and the command ends them`, async () => {
        await owner.query(act)
        const text = `the role ${way}: ${help}`
        if (isControl) {
          for (const fault of [await prepared(), await faultOf(checked())]) {
            expect(fault).to.be.instanceOf(Unsuitable)
            const others = 'other roles of the database have the rights of the service'
            expect(fault).to.have.property('message', `${others} in the schema portcullis. ${text}`)
          }
        } else {
          expect(await checked()).to.deep.equal([text])
          expect(await prepared()).to.equal(null)
        }
        await (help === rolesHelp ? share() : owner.query(help))
        expect(await checked(), 'after').to.deep.equal([])
      })
    }

    it('are not found for the roles of every managed server, nor for a backup and a monitor', async () => {
      const roles = ['admin', 'backup', 'monitor', 'admins'].map((name) => `${name}_${run}`)
      const [admin, backup, monitor, admins] = roles
      await owner.query(`
        CREATE ROLE ${admin} CREATEROLE CREATEDB LOGIN; CREATE ROLE ${backup} LOGIN REPLICATION; CREATE ROLE ${monitor} LOGIN;
        CREATE ROLE ${admins}; GRANT ${admins} TO ${admin}; GRANT ${service} TO ${admin}, ${admins}; GRANT pg_read_all_data TO ${backup}; GRANT pg_monitor TO ${monitor};
        GRANT ALL ON portcullis.user_private TO ${admin}; GRANT SELECT ON portcullis.user_private TO pg_monitor;
        GRANT SELECT ON portcullis.users TO ${monitor}, PUBLIC;
        CREATE PUBLICATION everything FOR ALL TABLES;
        ${key} ALTER TABLE shop.child OWNER TO ${admin}`)
      try {
        expect(await checked()).to.deep.equal([])
        expect(await prepared()).to.equal(null)
      } finally {
        await owner.query(
          `DROP PUBLICATION everything; DROP TABLE shop.child; DROP OWNED BY ${roles}; DROP ROLE ${roles}`,
        )
      }
    })
  })

  it('are not found for the logins of the service itself, as a rotation of passwords makes them', async () => {
    const [one, other] = [`one_${run}`, `other_${run}`]
    await owner.query(`CREATE ROLE ${one} LOGIN; CREATE ROLE ${other} LOGIN; GRANT ${service} TO ${one}, ${other}`)
    const checkedAs = (role: string) =>
      recovers(() => postgresBackend.check({ ...own(), url: url.replace('postgres@', `${role}@`) }))
    try {
      const text = `the role ${other} is a member of ${service}: REVOKE ${service} FROM ${other}`
      expect(String(await faultOf(checkedAs(one)))).to.include(text)
      await owner.query(`ALTER ROLE ${one} SET role = ${service}; ALTER ROLE ${other} SET role = ${service}`)
      for (const role of [service, one, other]) expect(await checkedAs(role)).to.deep.equal([])
      await owner.query(`ALTER ROLE ${other} RESET role; ALTER ROLE ${service} CREATEROLE`)
      expect(await checked(), 'of an administrator').to.deep.equal([text])
    } finally {
      await owner.query(`ALTER ROLE ${service} NOCREATEROLE; DROP ROLE ${one}, ${other}`)
    }
  })

  it('end with the SQL of storage roles, whatever default privileges and grants gave the app', async () => {
    await owner.query(`
      ALTER DEFAULT PRIVILEGES FOR ROLE ${service} GRANT SELECT ON TABLES TO ${app};
      ALTER DEFAULT PRIVILEGES FOR ROLE ${service} IN SCHEMA portcullis GRANT ALL ON SEQUENCES TO ${app};
      GRANT ALL ON ALL TABLES IN SCHEMA portcullis TO ${app}; GRANT ALL ON ALL FUNCTIONS IN SCHEMA portcullis TO PUBLIC;
      GRANT ALL ON ALL SEQUENCES IN SCHEMA portcullis TO ${app}; GRANT ALL ON SCHEMA portcullis TO ${app}`)
    expect(String(await faultOf(checked()))).to.include(`${app} may create objects in the schema portcullis`)
    await share()
    expect(await checked()).to.deep.equal([])
    const { rows } = await owner.query(`
      SELECT relname AS name FROM pg_class WHERE relnamespace = 'portcullis'::regnamespace AND relkind = 'r'
      AND has_table_privilege('${app}', oid, 'SELECT')`)
    expect(rows).to.deep.equal([{ name: 'users' }])
  })

  it('leave foreign keys and triggers of the app alone while users has an owner of its own, and name more rights', async () => {
    await share()
    await owner.query(`${grabbing} ${key}
      CREATE TRIGGER act AFTER DELETE ON portcullis.users FOR EACH ROW EXECUTE FUNCTION shop.grabbing()`)
    expect(await checked()).to.deep.equal([])
    await owner.query(`GRANT ALL ON portcullis.users TO ${app}`)
    const rights = 'DELETE, INSERT, (MAINTAIN, )?TRIGGER, TRUNCATE, UPDATE'
    expect((await checked()).join()).to.match(
      new RegExp(
        `^the role ${app} may ${rights} on portcullis.users: REVOKE ${rights} ON portcullis.users FROM ${app}$`,
      ),
    )
    expect(await prepared()).to.equal(null)
  })

  it('have limits of time for the app with --time-outs', async () => {
    await share()
    const client = new pg.Client(url.replace('postgres@', `${app}@`))
    await client.connect()
    const read = `SELECT current_setting('lock_timeout') AS lock, current_setting('idle_in_transaction_session_timeout') AS idle`
    expect((await client.query(read)).rows).to.deep.equal([{ lock: '1s', idle: '10s' }])
    await client.end()
    expect(rolesOf(own(), app, false)).to.not.include('lock_timeout')
  })
})
