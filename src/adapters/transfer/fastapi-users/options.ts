/** The columns of fastapi-users 15, by table. A name of Beanie differs: its id is `_id`, and links are part of the user. */
export const usualColumns = {
  users: ['id', 'email', 'hashed_password', 'is_active', 'is_superuser', 'is_verified'],
  links: ['id', 'user_id', 'oauth_name', 'account_id', 'account_email', 'access_token', 'refresh_token', 'expires_at'],
  tokens: ['token', 'user_id', 'created_at'],
} as const

export type Table = keyof typeof usualColumns
export const tables = ['users', 'links', 'tokens'] as const satisfies readonly Table[]

/** Names in the source that differ, by ours. `users.created_at` has no usual name: without it, nothing tells the age of a user. */
export type ColumnNames = Readonly<Partial<Record<string, string>>>

export interface FastapiUsersOptions {
  /**
   * The address of the database, also as SQLAlchemy writes it: `postgresql+asyncpg://…`, `sqlite+aiosqlite:///file`,
   * `mongodb://host/name`.
   */
  readonly from: string
  /** The address of a Redis with sessions. */
  readonly sessionsFrom?: string
  /** Names of tables or collections. PostgreSQL: perhaps with a schema, `app.users`. */
  readonly tables?: Readonly<Partial<Record<Table, string>>>
  readonly columns?: Readonly<Partial<Record<Table, ColumnNames>>>
  /** The columns of own fields, by the names of the fields. A missing column is a fault. */
  readonly fields?: Readonly<Record<string, string>>
  /** Own fields that are read if there is a column of the same name. */
  readonly fieldsIfThere?: readonly string[]
  /** The lifetime of stored logins (`DatabaseStrategy`); `null` if they have no end. Needed if the database has any. */
  readonly lifetimeSeconds?: number | null
  /** The prefix of the keys in Redis; by default that of fastapi-users since 10.1.3. */
  readonly redisKeyPrefix?: string
  /** Whether verified users do not count as owners of their addresses. */
  readonly distrustVerified?: boolean
  readonly now: Date
  readonly warn: (message: string) => void
}

/** The columns to read of one table, by our names. */
export type Columns = Readonly<Record<string, string>>

export function columnsOf(table: Table, { columns = {} }: Pick<FastapiUsersOptions, 'columns'>): Columns {
  const usual = usualColumns[table].map((name) => [name, name])
  return { ...Object.fromEntries(usual), ...columns[table] }
}
