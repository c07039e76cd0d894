import type { Database, Statement } from 'better-sqlite3'

/**
 * The compiled statement of a text. The caller names the types of the statement's parameters and rows.
 *
 * @typeParam Parameters a tuple of values, or of one object for named parameters
 */
export type Statements = <Parameters extends unknown[], Row = unknown>(sql: string) => Statement<Parameters, Row>

/** Compiles each statement when it is first used. It takes 5 kB, and most tenants use a quarter of all statements. */
export function statementsOf(db: Database): Statements {
  const compiled = new Map<string, Statement>()
  return <Parameters extends unknown[], Row>(sql: string) => {
    const statement = compiled.get(sql) ?? db.prepare(sql)
    compiled.set(sql, statement)
    return statement as unknown as Statement<Parameters, Row> // safe: the caller names the types of its own SQL
  }
}

/** Inserts a row whose columns have the names of the parameters. */
export function insertInto(table: string, row: object): string {
  const columns = Object.keys(row)
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((name) => `@${name}`).join(', ')})`
}

/** Deletes at most `limit` expired rows. Returns how many. */
export function sweepExpired(sql: Statements, table: string, key: string, now: number, limit: number): number {
  const sweep = `DELETE FROM ${table} WHERE ${key} IN
    (SELECT ${key} FROM ${table} WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`
  return sql<[number, number]>(sweep).run(now, limit).changes
}
