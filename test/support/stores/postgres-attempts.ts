import type pg from 'pg'

/** Where the role of an app tries to get the rights of the service. */
interface Place {
  readonly shop: pg.Client
  readonly userId: string
  readonly service: string
  readonly app: string
}

export interface Attempt {
  readonly name: string
  /** Prepares the attempt. The service then deletes the user, and goes on. */
  act(place: Place): Promise<unknown>
  /** PostgreSQL refuses the preparation. */
  readonly isRefused?: boolean
  /** SQL that takes away, as the owner of the database, what the attempt has made beside the schema of the app. */
  readonly undo?: (app: string) => string
}

/**
 * `shop.grab()` tries everything that the service may do. Sequences count, because no ROLLBACK undoes them: `ran` the calls, and
 * `reached` the tries that succeeded.
 */
export const tools = (service: string, app: string): string => `
  CREATE SEQUENCE shop.ran; CREATE SEQUENCE shop.reached;
  GRANT USAGE ON SCHEMA shop TO PUBLIC; GRANT ALL ON ALL SEQUENCES IN SCHEMA shop TO PUBLIC;
  CREATE FUNCTION shop.attempt(act text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    EXECUTE act;
    PERFORM nextval('shop.reached');
  EXCEPTION WHEN OTHERS THEN NULL;
  END $$;
  CREATE FUNCTION shop.grab() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
    PERFORM nextval('shop.ran');
    PERFORM shop.attempt('SELECT password_hash FROM portcullis.user_private');
    PERFORM shop.attempt('SELECT digest FROM portcullis.sessions');
    PERFORM shop.attempt('UPDATE portcullis.user_private SET is_superuser = true');
    PERFORM shop.attempt('GRANT ALL ON portcullis.user_private TO ${app}');
    PERFORM shop.attempt('GRANT ${service}_users TO ${app}');
    PERFORM shop.attempt('SELECT email FROM portcullis_other.users');
    PERFORM shop.attempt('CREATE TABLE portcullis.more ()');
    PERFORM shop.attempt('COMMENT ON SCHEMA portcullis IS ''grabbed''');
    PERFORM shop.attempt('CREATE PUBLICATION grabbed FOR TABLE portcullis.user_private');
    PERFORM shop.attempt('SET ROLE ${service}');
    PERFORM shop.attempt('RESET ROLE');
    PERFORM shop.attempt('SET SESSION AUTHORIZATION ${service}');
    PERFORM shop.attempt('RESET SESSION AUTHORIZATION');
    RETURN true;
  END $$;
  CREATE FUNCTION shop.grabbing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM shop.grab();
    RETURN coalesce(OLD, NEW);
  END $$;`

/** A trigger function that keeps in `shop.seen` what it reads of the statement that fires it. */
export const looking = `
  CREATE TABLE shop.seen (context text);
  GRANT ALL ON shop.seen TO PUBLIC; GRANT USAGE ON SCHEMA shop TO PUBLIC;
  CREATE FUNCTION shop.look() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE context text; BEGIN
    RAISE 'look';
  EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
    INSERT INTO shop.seen VALUES (context);
    SET log_parameter_max_length_on_error = -1;
    RETURN NULL;
  END $$`
export const lookAtUsers =
  'CREATE TRIGGER look AFTER INSERT OR UPDATE ON portcullis.users FOR EACH ROW EXECUTE FUNCTION shop.look()'

/** A table of the app with a row of the user, and a trigger on it. */
async function child({ shop, userId }: Place, trigger: string, onDelete = 'CASCADE'): Promise<void> {
  await shop.query(`CREATE TABLE shop.child (user_id uuid REFERENCES portcullis.users ON DELETE ${onDelete})`)
  await shop.query('INSERT INTO shop.child VALUES ($1)', [userId])
  await shop.query('GRANT ALL ON shop.child TO PUBLIC')
  await shop.query(trigger)
}

const trigger = (when: string, calls = 'shop.grabbing', constraint = '') =>
  `CREATE ${constraint === '' ? '' : 'CONSTRAINT '}TRIGGER act ${when} ON shop.child ${constraint} FOR EACH ROW EXECUTE FUNCTION ${calls}()`
const deferred = 'DEFERRABLE INITIALLY DEFERRED'

/** Runs these statements of plpgsql in the transaction that deletes the user. */
async function atDeletion(place: Place, body: string): Promise<void> {
  const head = 'CREATE FUNCTION shop.acting() RETURNS trigger LANGUAGE plpgsql AS'
  await place.shop.query(`${head} $$ BEGIN PERFORM shop.grab(); ${body} RETURN NULL; END $$`)
  await child(place, trigger('AFTER DELETE', 'shop.acting'))
}

/** Runs these statements of plpgsql as the owner of users: PostgreSQL casts the key of a row as this owner. */
async function asOwner({ shop, userId }: Place, body: string): Promise<void> {
  await shop.query(`
    CREATE TYPE shop.odd AS (id uuid);
    CREATE FUNCTION shop.cast_odd(odd shop.odd) RETURNS uuid LANGUAGE plpgsql AS $$ BEGIN
      PERFORM shop.grab(); ${body} RETURN odd.id;
    END $$;
    CREATE CAST (shop.odd AS uuid) WITH FUNCTION shop.cast_odd AS IMPLICIT;
    CREATE TABLE shop.odd_child (user_id shop.odd REFERENCES portcullis.users ON DELETE CASCADE)`)
  await shop.query('INSERT INTO shop.odd_child VALUES (ROW($1::uuid))', [userId])
}

/** Runs these definitions as the owner of users, outside of the statement that casts: by a function that the cast makes. */
async function definedByOwner(place: Place, definitions: string): Promise<void> {
  await place.shop.query(`
    GRANT CREATE ON SCHEMA shop TO PUBLIC;
    CREATE FUNCTION shop.sure() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM shop.grab(); RETURN true; END'`)
  await asOwner(
    place,
    `IF to_regprocedure('shop.owning(text)') IS NULL THEN
      CREATE FUNCTION shop.owning(act text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN EXECUTE act; END';
    END IF;`,
  )
  await place.shop.query('SELECT shop.owning($1)', [definitions])
}

/**
 * `shop.defer()` defers itself three times. Meanwhile it writes a row more, and runs `lowering`: afterwards the transaction has
 * written no more rows in tables with deferrable triggers than before.
 */
async function lowered(shop: pg.Client, lowering: string): Promise<void> {
  await shop.query(`
    GRANT CREATE ON SCHEMA shop TO PUBLIC;
    CREATE TABLE shop.later (n int);
    GRANT ALL ON shop.later TO PUBLIC;
    CREATE FUNCTION shop.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE FUNCTION shop.defer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM shop.grab();
      SET CONSTRAINTS ALL DEFERRED;
      CASE (SELECT count(*) FROM shop.later)
        WHEN 0 THEN
          CREATE TABLE shop.filler (n int);
          CREATE CONSTRAINT TRIGGER quiet AFTER INSERT ON shop.filler ${deferred}
            FOR EACH ROW EXECUTE FUNCTION shop.nothing();
          INSERT INTO shop.filler VALUES (1);
          INSERT INTO shop.later VALUES (1);
        WHEN 1 THEN
          INSERT INTO shop.later VALUES (1);
          ${lowering};
        ELSE NULL;
      END CASE;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER again AFTER INSERT ON shop.later ${deferred} FOR EACH ROW EXECUTE FUNCTION shop.defer()`)
}

const refused = (name: string, text: (place: Place) => string): Attempt => ({
  name,
  isRefused: true,
  act: (place) => place.shop.query(text(place)),
})

const granted = (app: string): string => `
  REVOKE ALL ON portcullis.users FROM PUBLIC, ${app}; GRANT SELECT, REFERENCES (id) ON portcullis.users TO ${app};`

export const attempts: readonly Attempt[] = [
  refused('by reading the private table', () => 'SELECT password_hash FROM portcullis.user_private'),
  refused('by reading the sessions', () => 'SELECT digest FROM portcullis.sessions'),
  refused('by changing users', () => 'UPDATE portcullis.users SET is_superuser = true'),
  refused(
    'by a trigger on users',
    () => 'CREATE TRIGGER t AFTER UPDATE ON portcullis.users FOR EACH ROW EXECUTE FUNCTION shop.grabbing()',
  ),
  refused(
    'by a key to email_key',
    () => 'CREATE TABLE shop.keys (k text REFERENCES portcullis.users (email_key) ON UPDATE CASCADE)',
  ),
  refused('by calling the functions', ({ userId }) => `SELECT portcullis.remove_user('${userId}'::uuid)`),
  refused(
    'by replacing a function',
    () =>
      'CREATE OR REPLACE FUNCTION portcullis.remove_user(anyelement) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$',
  ),
  refused('by taking the role of the owner', ({ service }) => `SET ROLE ${service}_users`),
  refused('by a rule on users', () => 'CREATE RULE r AS ON DELETE TO portcullis.users DO ALSO SELECT shop.grab()'),

  refused('by an heir of users', () => 'CREATE TABLE shop.heir () INHERITS (portcullis.users)'),
  refused('by a publication', () => 'CREATE PUBLICATION grabbed FOR TABLE portcullis.user_private'),
  refused('by the schema', ({ app }) => `ALTER SCHEMA portcullis OWNER TO ${app}`),
  refused(
    'by an event trigger',
    () => `CREATE FUNCTION shop.event() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
      CREATE EVENT TRIGGER grabbed ON ddl_command_end EXECUTE FUNCTION shop.event()`,
  ),

  { name: 'by a trigger after ON DELETE CASCADE', act: (place) => child(place, trigger('AFTER DELETE')) },
  { name: 'by a trigger before ON DELETE CASCADE', act: (place) => child(place, trigger('BEFORE DELETE')) },
  { name: 'by a trigger after ON DELETE SET NULL', act: (place) => child(place, trigger('AFTER UPDATE'), 'SET NULL') },
  {
    name: 'by a deferred trigger after ON DELETE CASCADE',
    act: (place) => child(place, trigger('AFTER DELETE', 'shop.grabbing', deferred)),
  },
  {
    name: 'by a deferred trigger after ON DELETE SET NULL',
    act: (place) => child(place, trigger('AFTER UPDATE', 'shop.grabbing', deferred), 'SET NULL'),
  },
  {
    name: 'by the default of ON DELETE SET DEFAULT',
    async act(place) {
      await child(place, '', 'SET DEFAULT')
      await place.shop.query(`
        CREATE FUNCTION shop.other_user() RETURNS uuid LANGUAGE plpgsql AS $$ BEGIN PERFORM shop.grab(); RETURN NULL; END $$;
        ALTER TABLE shop.child ALTER user_id SET DEFAULT shop.other_user()`)
    },
  },
  {
    name: 'by a trigger for the whole statement',
    act: (place) => child(place, 'CREATE TRIGGER act AFTER DELETE ON shop.child EXECUTE FUNCTION shop.grabbing()'),
  },
  {
    name: 'by a rule on a table of the app',
    act: (place) => child(place, 'CREATE RULE act AS ON DELETE TO shop.child DO ALSO SELECT shop.grab()'),
  },
  {
    name: 'by a deferred trigger that defers others, again and again',
    async act(place) {
      await place.shop.query(`
        CREATE TABLE shop.later (n int);
        GRANT ALL ON shop.later TO PUBLIC;
        CREATE FUNCTION shop.defer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          PERFORM shop.grab();
          SET CONSTRAINTS ALL DEFERRED;
          INSERT INTO shop.later SELECT count(*) FROM shop.later HAVING count(*) < 3;
          RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER again AFTER INSERT ON shop.later ${deferred}
          FOR EACH ROW EXECUTE FUNCTION shop.defer()`)
      await child(place, trigger('AFTER DELETE', 'shop.defer', deferred))
    },
  },
  ...['TRUNCATE shop.filler', 'DROP TRIGGER quiet ON shop.filler', 'DROP TABLE shop.filler'].map(
    (lowering): Attempt => ({
      name: `by deferred triggers that lower the number of written rows: ${lowering}`,
      async act(place) {
        await lowered(place.shop, lowering)
        await child(place, trigger('AFTER DELETE', 'shop.defer', deferred))
      },
    }),
  ),
  {
    name: 'by a deferred trigger that undoes what it defers',
    async act(place) {
      await lowered(
        place.shop,
        `BEGIN SET CONSTRAINTS ALL IMMEDIATE; INSERT INTO shop.filler VALUES (2); RAISE 'undone';
        EXCEPTION WHEN OTHERS THEN NULL; END`,
      )
      await child(place, trigger('AFTER DELETE', 'shop.defer', deferred))
    },
  },
  {
    name: 'by a deferred exclusion over an expression',
    async act(place) {
      await place.shop.query(`
        CREATE FUNCTION shop.key(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM shop.grab(); RETURN 1; END $$;
        CREATE TABLE shop.later (n int, EXCLUDE USING btree (shop.key(n) WITH =) ${deferred});
        GRANT ALL ON shop.later TO PUBLIC`)
      await atDeletion(place, 'INSERT INTO shop.later VALUES (1), (2);')
    },
  },
  {
    name: 'by a cursor that COMMIT runs',
    act: (place) => atDeletion(place, `EXECUTE 'DECLARE held CURSOR WITH HOLD FOR SELECT shop.grab()';`),
  },
  {
    name: 'by statements in place of those of the service',
    act: (place) => atDeletion(place, replaceStatements),
  },
  {
    name: 'by statements in place of those of the service, and an error',
    act: (place) => atDeletion(place, `${replaceStatements} RAISE EXCEPTION 'undone' USING ERRCODE = '40P01';`),
  },
  {
    name: 'by functions and operators of its own in the search path',
    async act(place) {
      await place.shop.query(`
        CREATE FUNCTION shop.same(uuid, uuid) RETURNS boolean LANGUAGE sql AS 'SELECT shop.grab()';
        CREATE FUNCTION shop.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT shop.grab()';
        CREATE OPERATOR shop.= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = shop.same);
        CREATE OPERATOR shop.= (LEFTARG = text, RIGHTARG = text, FUNCTION = shop.same);
        CREATE FUNCTION shop.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT shop.grab()::text'`)
      await atDeletion(place, 'SET search_path = shop, pg_catalog;')
    },
  },
  {
    name: 'by temporary types with the names of usual ones',
    act: (place) =>
      atDeletion(
        place,
        ['uuid', 'text', 'timestamptz', 'bool']
          .map((type) => `CREATE DOMAIN pg_temp.${type} AS pg_catalog.${type} CHECK (shop.grab());`)
          .join(' '),
      ),
  },
  { name: 'by the cast of a foreign key', act: (place) => asOwner(place, '') },
  {
    name: 'by the cast of a foreign key, and a trigger on users',
    async act(place) {
      await asOwner(place, `GRANT ALL ON portcullis.users TO ${place.app};`)
      await place.shop.query(`
        CREATE TRIGGER act AFTER INSERT OR UPDATE OR DELETE ON portcullis.users
          FOR EACH ROW EXECUTE FUNCTION shop.grabbing();
        CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE OR DELETE ON portcullis.users ${deferred}
          FOR EACH ROW EXECUTE FUNCTION shop.grabbing()`)
    },
    undo: granted,
  },
  {
    name: 'by the cast of a foreign key, and triggers on users that lower the number of written rows',
    async act(place) {
      await lowered(place.shop, 'TRUNCATE shop.filler')
      await asOwner(place, `GRANT ALL ON portcullis.users TO ${place.app};`)
      await place.shop.query(`
        CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE OR DELETE ON portcullis.users ${deferred}
          FOR EACH ROW EXECUTE FUNCTION shop.defer()`)
    },
    undo: granted,
  },
  {
    name: 'by the cast of a foreign key, and functions with the rights of their caller',
    async act(place) {
      await asOwner(
        place,
        `GRANT ALL ON portcullis.users TO PUBLIC;
        EXECUTE 'ALTER FUNCTION portcullis.put_users SECURITY INVOKER';
        EXECUTE 'ALTER FUNCTION portcullis.remove_user SECURITY INVOKER';`,
      )
      await place.shop.query(`
        CREATE TRIGGER act AFTER INSERT OR UPDATE OR DELETE ON portcullis.users
          FOR EACH ROW EXECUTE FUNCTION shop.grabbing()`)
    },
    undo: (app) => `${granted(app)}
      ALTER FUNCTION portcullis.put_users SECURITY DEFINER; ALTER FUNCTION portcullis.remove_user SECURITY DEFINER`,
  },
  {
    name: 'by the cast of a foreign key, and dates that the service cannot read',
    act: (place) =>
      asOwner(
        place,
        `EXECUTE 'ALTER FUNCTION portcullis.put_users SET DateStyle = German';
        EXECUTE 'ALTER FUNCTION portcullis.remove_user SET DateStyle = German';`,
      ),
    undo: () => `
      ALTER FUNCTION portcullis.put_users RESET DateStyle; ALTER FUNCTION portcullis.remove_user RESET DateStyle`,
  },
  {
    name: 'by the owner of users, who makes a rule on users that also runs code',
    act: (place) =>
      definedByOwner(place, 'CREATE RULE act AS ON DELETE TO portcullis.users DO ALSO SELECT shop.grab();'),
  },
  {
    name: 'by the owner of users, who makes a rule on users in place of each INSERT',
    act: (place) =>
      definedByOwner(place, 'CREATE RULE act AS ON INSERT TO portcullis.users DO INSTEAD SELECT shop.grab();'),
  },
  {
    name: 'by the owner of users, who makes a policy, check, default and statistics of users',
    act: (place) =>
      definedByOwner(
        place,
        `CREATE POLICY act ON portcullis.users USING (shop.grab()) WITH CHECK (shop.grab());
        ALTER TABLE portcullis.users ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY,
          ADD CONSTRAINT act CHECK (shop.grab()), ADD act boolean DEFAULT shop.grab();
        CREATE STATISTICS shop.act ON (shop.sure()), email FROM portcullis.users;`,
      ),
    undo: () =>
      'ALTER TABLE portcullis.users NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY, DROP COLUMN IF EXISTS act',
  },
  {
    name: 'by the owner of users, who makes it an heir',
    act: (place) =>
      definedByOwner(
        place,
        `CREATE TABLE shop.ancestor (email text NOT NULL);
        ALTER TABLE portcullis.users INHERIT shop.ancestor;
        GRANT ALL ON shop.ancestor TO PUBLIC;
        CREATE RULE act AS ON DELETE TO shop.ancestor DO ALSO SELECT shop.grab();`,
      ),
    undo: () => 'ALTER TABLE portcullis.users NO INHERIT shop.ancestor', // DROP would drop users, too
  },
  {
    name: 'by the cast of a foreign key, and an heir of users',
    async act(place) {
      await place.shop.query('GRANT CREATE ON SCHEMA shop TO PUBLIC')
      await asOwner(
        place,
        `CREATE TABLE IF NOT EXISTS shop.heir () INHERITS (portcullis.users);
        INSERT INTO shop.heir SELECT * FROM ONLY portcullis.users WHERE id = odd.id AND NOT EXISTS (SELECT FROM shop.heir);
        CREATE OR REPLACE TRIGGER act AFTER DELETE ON shop.heir FOR EACH ROW EXECUTE FUNCTION shop.grabbing();`,
      )
    },
  },
]

const replaceStatements = `
  DECLARE known record;
  BEGIN
    FOR known IN SELECT name, array_to_string(parameter_types, ', ') AS types FROM pg_prepared_statements LOOP
      EXECUTE format('DEALLOCATE %I', known.name);
      EXECUTE format('PREPARE %I %s AS SELECT shop.grab()', known.name, '(' || nullif(known.types, '') || ')');
    END LOOP;
  END;`
