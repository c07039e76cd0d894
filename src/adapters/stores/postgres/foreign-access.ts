import type { ForeignAccess } from '../store-backend.ts'
import type { Queries } from './connection/connection.ts'
import { putUsers, removeUser } from './migrations/0002-shared-users.ts'

const ownFunctions = [putUsers, removeUser].map((signature) => `coalesce(to_regprocedure('@${signature}'), 0)`)

/**
 * One row for each way by which another role reads the tables, or runs code with the rights of the service. `$1` is the schema.
 * Superusers, roles with CREATEROLE and the predefined roles of the server administrate it, and are left out. So are logins of the
 * service itself, which always act as its role (ALTER ROLE … SET role).
 */
const ways = `
  WITH home AS (
    SELECT space.oid AS space, space.nspowner, space.nspacl, users.oid AS users, users.relowner AS owner, private.relowner AS keeper,
      -- Code that runs as the owner of users reaches nothing else.
      coalesce(NOT has_table_privilege(users.relowner, private.oid, 'SELECT'), false) AS is_contained
    FROM (VALUES (to_regclass('@users'), to_regclass('@user_private'))) AS named (users, private)
    LEFT JOIN pg_namespace AS space ON nspname = $1
    LEFT JOIN pg_class AS users ON users.oid = named.users LEFT JOIN pg_class AS private ON private.oid = named.private
  ), own (id) AS (
    SELECT oid FROM pg_roles WHERE rolname = current_user
    UNION SELECT keeper FROM home WHERE pg_has_role(keeper, 'USAGE')
    UNION SELECT owner FROM home JOIN pg_roles ON oid = owner WHERE NOT rolcanlogin AND pg_has_role(oid, 'MEMBER')
  ), other (id, role, is_login) AS (
    SELECT oid, quote_ident(rolname), rolcanlogin FROM pg_roles
    WHERE NOT rolsuper AND NOT rolcreaterole AND oid >= 16384 AND NOT EXISTS (SELECT FROM own WHERE id = oid)
      AND NOT coalesce('role=' || current_user = ANY (rolconfig), false)
    UNION ALL SELECT 0, 'PUBLIC', false
  ), ours (id, name, is_users) AS (
    SELECT oid, oid::regclass::text, oid = users FROM home JOIN pg_class ON relnamespace = space WHERE relkind IN ('r', 'p')
  ),

  rights AS (
    SELECT grantee, privilege_type AS may, oid::regclass::text AS name, oid = users AS is_users,
      CASE WHEN oid = users THEN NOT is_contained AND privilege_type IN ('REFERENCES', 'TRIGGER')
        ELSE relkind IN ('r', 'p') AND privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER')
      END AS is_control
    FROM home JOIN pg_class ON relnamespace = space, LATERAL (
      SELECT relacl UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = pg_class.oid AND attacl IS NOT NULL
    ) AS given (acl), aclexplode(acl)
    WHERE grantee <> relowner -- An owner whose rights were revoked would pass none on.
      AND (oid IS DISTINCT FROM users OR (privilege_type <> 'SELECT' AND (privilege_type <> 'REFERENCES' OR NOT is_contained)))
  ), calls AS (
    SELECT grantee, oid::regprocedure::text AS name, is_contained FROM home
    JOIN pg_proc ON pronamespace = space, aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE grantee <> proowner
  ),

  found (id, way, help, is_control) AS (
    SELECT grantee, format('may %s on %s', string_agg(DISTINCT may, ', '), string_agg(DISTINCT name, ', ')),
      CASE WHEN is_users AND is_control AND grantee <> 0 THEN 'roles'
        ELSE format('REVOKE %s ON %s FROM', string_agg(DISTINCT may, ', '), string_agg(DISTINCT name, ', ')) END, is_control
    FROM rights GROUP BY grantee, is_control, is_users
    UNION ALL
    SELECT grantee, 'may call ' || name, format('REVOKE EXECUTE ON FUNCTION %s FROM', name), NOT is_contained FROM calls
    UNION ALL
    SELECT proowner, 'owns ' || oid::regprocedure,
      CASE WHEN oid NOT IN (${ownFunctions}) THEN format('DROP FUNCTION %s', oid::regprocedure)
        ELSE format('ALTER FUNCTION %s OWNER TO %s', oid::regprocedure,
          CASE WHEN owner IN (SELECT id FROM own) THEN owner::regrole::text ELSE quote_ident(current_user) END) END, true
    FROM home JOIN pg_proc ON pronamespace = space
    UNION ALL
    SELECT relowner, 'owns ' || pg_class.oid::regclass,
      CASE WHEN pg_class.oid IS DISTINCT FROM users THEN format('ALTER TABLE %s OWNER TO %I', pg_class.oid::regclass, current_user)
        WHEN rolcanlogin THEN 'roles' ELSE format('GRANT %s TO %I', relowner::regrole, current_user) END, true
    FROM home JOIN pg_class ON relnamespace = space JOIN pg_roles ON pg_roles.oid = relowner WHERE relkind NOT IN ('i', 'I')
    UNION ALL
    SELECT grantee, format('may create objects in the schema %I', $1), format('REVOKE CREATE ON SCHEMA %I FROM', $1), true
    FROM home, aclexplode(nspacl) WHERE privilege_type = 'CREATE' AND grantee <> nspowner
    UNION ALL
    SELECT nspowner, format('owns the schema %I', $1), format('ALTER SCHEMA %I OWNER TO %I', $1, current_user), true FROM home
    UNION ALL
    SELECT grantee,
      format('gets %s on each new %s of %I', string_agg(DISTINCT privilege_type, ', '), what, pg_get_userbyid(defaclrole)),
      format('ALTER DEFAULT PRIVILEGES FOR ROLE %s%s REVOKE ALL ON %sS FROM', defaclrole::regrole,
        CASE WHEN defaclnamespace = 0 THEN '' ELSE format(' IN SCHEMA %I', $1) END, upper(what)),
      bool_or(what NOT IN ('table', 'sequence') OR (what = 'table' AND privilege_type <> 'SELECT'))
    FROM home, own JOIN pg_default_acl ON defaclrole = own.id,
      LATERAL (SELECT CASE defaclobjtype WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'function' WHEN 'n' THEN 'schema' END)
        AS kind (what), aclexplode(defaclacl)
    WHERE what IS NOT NULL AND (defaclnamespace = 0 OR defaclnamespace = space)
      -- Every role may call a new function until a migration revokes it.
      AND NOT (what = 'function' AND grantee = 0) AND NOT (what = 'schema' AND privilege_type = 'USAGE')
    GROUP BY grantee, what, defaclrole, defaclnamespace
    UNION ALL
    SELECT relowner, format('owns %s, whose foreign key %I refers to %s', conrelid::regclass, conname, name),
      CASE WHEN is_users THEN 'roles' ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) END, true
    FROM home, ours JOIN pg_constraint ON confrelid = ours.id JOIN pg_class AS child ON child.oid = conrelid
    WHERE conparentid = 0 AND NOT (is_users AND is_contained) AND NOT EXISTS (SELECT FROM ours WHERE id = conrelid)
    UNION ALL
    -- By laterals, so that the server looks only at our tables among thousands of others.
    SELECT DISTINCT thing.owner,
      format('owns %s, which the %s %s uses', (pg_identify_object(refclassid, refobjid, 0)).identity, named.type, named.identity),
      CASE WHEN part.change IS NOT NULL THEN format('ALTER TABLE %s %s', ours.name, part.change)
        WHEN part.id <> ours.id THEN format('DROP %s %s', replace(upper(named.type), ' OBJECT', ''), named.identity)
        WHEN objsubid > 0 THEN format('ALTER TABLE %s DROP COLUMN %I', ours.name, (SELECT attname FROM pg_attribute WHERE attrelid = objid AND attnum = objsubid))
        WHEN refclassid = 'pg_class'::regclass THEN format('ALTER TABLE %s NO INHERIT %s', ours.name, refobjid::regclass)
        ELSE format('ALTER TABLE %s NOT OF', ours.name) END, true
    FROM home, ours, LATERAL (
      SELECT 'pg_trigger'::regclass, oid, NULL FROM pg_trigger WHERE tgrelid = ours.id
      UNION ALL SELECT 'pg_rewrite'::regclass, oid, NULL FROM pg_rewrite WHERE ev_class = ours.id
      UNION ALL SELECT 'pg_policy'::regclass, oid, NULL FROM pg_policy WHERE polrelid = ours.id
      UNION ALL SELECT 'pg_attrdef'::regclass, pg_attrdef.oid, format('ALTER %I DROP DEFAULT', attname)
        FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE adrelid = ours.id
      UNION ALL SELECT 'pg_constraint'::regclass, oid, format('DROP CONSTRAINT %I', conname) FROM pg_constraint WHERE conrelid = ours.id
      UNION ALL SELECT 'pg_class'::regclass, indexrelid, NULL FROM pg_index WHERE indrelid = ours.id
      UNION ALL SELECT 'pg_statistic_ext'::regclass, oid, NULL FROM pg_statistic_ext WHERE stxrelid = ours.id
      UNION ALL SELECT 'pg_class'::regclass, ours.id, NULL
    ) AS part (class, id, change) JOIN pg_depend ON classid = part.class AND objid = part.id, LATERAL (
      SELECT proowner FROM pg_proc WHERE oid = refobjid AND refclassid = 'pg_proc'::regclass
      UNION ALL SELECT oprowner FROM pg_operator WHERE oid = refobjid AND refclassid = 'pg_operator'::regclass
      UNION ALL SELECT typowner FROM pg_type WHERE oid = refobjid AND refclassid = 'pg_type'::regclass
      UNION ALL SELECT relowner FROM pg_class WHERE oid = refobjid AND refclassid = 'pg_class'::regclass AND relnamespace <> space
    ) AS thing (owner) JOIN other ON other.id = thing.owner, LATERAL pg_identify_object(classid, objid, objsubid) AS named
    WHERE NOT (is_users AND is_contained)
    UNION ALL
    SELECT relowner, format('owns %s, an heir of %s', inhrelid::regclass, name), format('DROP TABLE %s', inhrelid::regclass), true
    FROM home, ours JOIN pg_inherits ON inhparent = ours.id JOIN pg_class ON pg_class.oid = inhrelid
    WHERE NOT (is_users AND is_contained)
    UNION ALL
    SELECT pubowner, format('owns the publication %I of %s', pubname, name), format('DROP PUBLICATION %I', pubname), false
    FROM ours JOIN pg_publication_rel ON prrelid = ours.id JOIN pg_publication ON pg_publication.oid = prpubid WHERE NOT is_users
    UNION ALL
    SELECT proowner, format('owns %s, which the event trigger %I calls', evtfoid::regprocedure, evtname),
      format('DROP EVENT TRIGGER %I', evtname), true
    FROM pg_event_trigger JOIN pg_proc ON pg_proc.oid = evtfoid WHERE evtenabled <> 'D'
    UNION ALL
    -- Of a chain, the member that is no administrator. A group acts by members who log in. With the option ADMIN alone,
    -- as the creator of a role has it, nobody acts as this role yet.
    SELECT member, format('is a member of %s', roleid::regrole), format('REVOKE %s FROM', roleid::regrole),
      bool_or(roleid = own.id AND NOT rolcreaterole AND pg_has_role(member, roleid, acting) AND NOT (roleid IS NOT DISTINCT FROM owner AND is_contained))
    FROM home, own, pg_auth_members JOIN pg_roles ON pg_roles.oid = roleid AND NOT rolsuper,
      LATERAL (SELECT CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'USAGE, SET' END) AS right_to (acting)
    WHERE pg_has_role(roleid, own.id, 'MEMBER') AND roleid NOT IN (SELECT id FROM other)
      AND EXISTS (SELECT FROM other WHERE is_login AND pg_has_role(id, member, 'MEMBER'))
    GROUP BY member, roleid
  )
  SELECT role, way, is_control AS "isControl", CASE WHEN help = 'roles' THEN format('run the SQL of "portcullis storage roles --app %s"', role)
    WHEN help LIKE '% FROM' THEN format('%s %s', help, role) ELSE help END AS help
  FROM found JOIN other USING (id) ORDER BY is_control DESC, role, way`

interface Way {
  readonly role: string
  readonly way: string
  readonly help: string
  readonly isControl: boolean
}

/** The ways by which other roles reach the tables of the schema, or will reach tables that are made in it. In a transaction. */
export async function foreignAccess({ all, change }: Queries, schema: string): Promise<readonly ForeignAccess[]> {
  await change('SET LOCAL jit = off') // compiling takes ten times as long as the query
  const found = await all<Way>(ways, [schema])
  return found.map(({ role, way, help, isControl }) => ({ text: `the role ${role} ${way}: ${help}`, isControl }))
}
