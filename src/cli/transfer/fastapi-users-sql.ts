import type { FieldValue } from '../../domain/field.ts'
import type { OAuthAccount } from '../../domain/oauth-account.ts'
import { importMark, type User } from '../../domain/user.ts'

/** The tables of the app, and its columns of our own fields. */
export interface FormerTables {
  readonly users: string
  readonly links: string
  /** `null`: the app has no sessions in the database. */
  readonly tokens: string | null
  /** Field to column. */
  readonly columns: ReadonlyMap<string, string>
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
/** Of `user`, or of `schema.user`. */
const table = (name: string): string => name.split('.').map(quoted).join('.')

/** A literal that PostgreSQL and SQLite read alike. */
function literal(value: FieldValue | undefined): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `'${text.replaceAll('\0', '').replaceAll("'", "''")}'`
}

/** The first lines of the file. A failing statement undoes everything. */
export const head = `-- Users of Portcullis for the database of fastapi-users 13 or later. The file has password hashes: delete it afterwards.
-- PostgreSQL: psql -v ON_ERROR_STOP=1 -f FILE DATABASE. SQLite: sqlite3 -bail FILE_OF_THE_APP < FILE.
BEGIN;
`

/** The last lines of the file. */
export function foot(tables: FormerTables, hasNumbers: boolean): string {
  const sequence = `-- PostgreSQL only: SELECT setval(pg_get_serial_sequence('${table(tables.users).replaceAll("'", "''")}', 'id'), (SELECT max(id) FROM ${table(tables.users)}));\n`
  return `COMMIT;\n${hasNumbers ? sequence : ''}`
}

/**
 * The statements that bring a user of fastapi-users to the state that it has here; empty if nothing has changed since the import.
 *
 * @param unknown the hash for users without a password: fastapi-users needs one, and nobody knows its password
 */
export function statementsFor(user: User, tables: FormerTables, unknown: string): readonly string[] {
  const { imported } = user
  const mark = importMark(user)
  if (mark?.isChanged === false) return []
  const id = idOf(user)
  const values = columnsOf(user, tables, unknown)
  const write = mark === null ? inserted(id, values, tables) : updated(id, values, tables)
  const hasEndedLogins = imported !== null && imported.generation !== user.sessions.generation
  // A session that was ended here must not come back there.
  const ended =
    hasEndedLogins && tables.tokens !== null ? [`DELETE FROM ${table(tables.tokens)} WHERE user_id = ${id};`] : []
  return [write, ...ended, unlinked(id, user.oauthAccounts, tables), ...linked(id, user, tables)]
}

const isNumber = (id: string): boolean => /^\d+$/.test(id)

/** Whether the ids of the app are numbers. */
export function hasNumber({ id }: User): boolean {
  return isNumber(id)
}

function idOf({ id }: User): string {
  return isNumber(id) ? id : literal(id)
}

function columnsOf(
  { email, passwordHash, isActive, isSuperuser, isVerified, fields, imported }: User,
  tables: FormerTables,
  unknown: string,
) {
  const all = { ...fields.shown, ...fields.hidden }
  return [
    ['email', literal(email)],
    // The text of the import is that of the same password, which the app surely verifies.
    ['hashed_password', literal(imported?.hashText ?? passwordHash ?? unknown)],
    ['is_active', literal(isActive)],
    ['is_superuser', literal(isSuperuser)],
    ['is_verified', literal(isVerified)],
    ...[...tables.columns].map(([field, column]) => [column, literal(all[field])] as const),
  ] as const
}

type Columns = ReturnType<typeof columnsOf>

/** May be repeated. */
function inserted(id: string, columns: Columns, tables: FormerTables): string {
  const names = columns.map(([name]) => quoted(name))
  const values = columns.map(([, value]) => value)
  const again = names.map((name) => `${name} = excluded.${name}`).join(', ')
  return `INSERT INTO ${table(tables.users)} (id, ${names.join(', ')}) VALUES (${[id, ...values].join(', ')}) ON CONFLICT (id) DO UPDATE SET ${again};`
}

function updated(id: string, columns: Columns, tables: FormerTables): string {
  const changes = columns.map(([name, value]) => `${quoted(name)} = ${value}`).join(', ')
  return `UPDATE ${table(tables.users)} SET ${changes} WHERE id = ${id};`
}

const isLink = ({ provider, accountId }: OAuthAccount): string =>
  `(oauth_name = ${literal(provider)} AND account_id = ${literal(accountId)})`

/** A link that was removed here must not come back there. */
function unlinked(id: string, accounts: readonly OAuthAccount[], tables: FormerTables): string {
  const others = accounts.length === 0 ? '' : ` AND NOT (${accounts.map(isLink).join(' OR ')})`
  return `DELETE FROM ${table(tables.links)} WHERE user_id = ${id}${others};`
}

/** The provider's token is empty until the next sign-in. An id that is a number comes from the database of the app. */
function linked(id: string, { oauthAccounts }: User, tables: FormerTables): readonly string[] {
  return oauthAccounts.map((account) => {
    const own = isNumber(id) ? [] : ([['id', literal(account.id)]] as const)
    const columns = [
      ...own,
      ['user_id', id],
      ['oauth_name', literal(account.provider)],
      ['access_token', "''"],
      ['account_id', literal(account.accountId)],
      ['account_email', literal(account.accountEmail)],
    ] as const
    const names = columns.map(([name]) => name).join(', ')
    const values = columns.map(([, value]) => value).join(', ')
    const known = `SELECT 1 FROM ${table(tables.links)} WHERE user_id = ${id} AND ${isLink(account)}`
    return `INSERT INTO ${table(tables.links)} (${names}) SELECT ${values} WHERE NOT EXISTS (${known});`
  })
}
