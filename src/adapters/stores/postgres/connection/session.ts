import type { ClientBase } from 'pg'
import { Unsuitable } from '../../store-backend.ts'

/** Less than the 2 s within which every operation ends. */
export const longestWaitMs = 1_900

interface SessionSetting {
  readonly name: string
  readonly value: string
  readonly suits: (present: string) => boolean
}

const timeOut = (name: string, milliseconds: number): SessionSetting => {
  return { name, value: `${milliseconds}`, suits: (present) => present !== '0' && Number(present) <= milliseconds }
}

const exactly = (name: string, value: string): SessionSetting => {
  return { name, value, suits: (present) => present === value }
}

/** The settings of each session. Databases and roles may have other defaults. */
const wanted: readonly SessionSetting[] = [
  // The server ends what the client has given up.
  timeOut('statement_timeout', 2_000),
  timeOut('lock_timeout', 1_500),
  timeOut('idle_in_transaction_session_timeout', 4_000),
  // The driver reads dates of this style alone.
  { name: 'DateStyle', value: 'ISO', suits: (present) => present.startsWith('ISO') },
  // A transaction here reads after its lock what others have committed before it.
  exactly('default_transaction_isolation', 'read committed'),
  // Otherwise a function of another owner in the schema public could replace one of the server (CVE-2018-1058).
  exactly('search_path', 'pg_catalog'),
  // Otherwise a trigger of an app could read the values of the statement that fires it, by PG_EXCEPTION_CONTEXT.
  exactly('log_parameter_max_length_on_error', '0'),
]

// A pooler gives each client a process id of its own. Behind one, a setting of the session would reach other clients.
const begin = `
  SELECT pg_backend_pid() = $1 AS is_direct, pg_is_in_recovery() AS is_replica,
    CASE WHEN pg_backend_pid() = $1 THEN (
      SELECT count(set_config(name, value, false)) FROM unnest($2::text[], $3::text[]) AS wanted (name, value)
    ) END`

interface Begun {
  readonly is_direct: boolean
  readonly is_replica: boolean
}

/** Sets up a new connection, unless it leads through a pooler. */
export async function beginSession(client: ClientBase) {
  const { processID } = client as ClientBase & { readonly processID: number } // the declared type lacks it
  const values = [processID, wanted.map(({ name }) => name), wanted.map(({ value }) => value)]
  const config = { text: begin, values, query_timeout: longestWaitMs } // the declared type lacks the last
  const { rows } = await client.query<Begun>(config)
  return { isDirect: rows[0]?.is_direct === true, isReplica: rows[0]?.is_replica === true }
}

const present = `
  SELECT setting.name, setting, session_user::text AS role
  FROM unnest($1::text[]) AS wanted (name) JOIN pg_settings AS setting ON setting.name = wanted.name`

interface PresentRow {
  readonly name: string
  readonly setting: string
  readonly role: string
}

/** Throws `Unsuitable` if the session lacks a setting, which happens only behind a pooler. */
export async function requireSettings(read: (text: string, values: readonly unknown[]) => Promise<PresentRow[]>) {
  const rows = await read(present, [wanted.map(({ name }) => name)])
  const statements = wanted.flatMap(({ name, value, suits }) => {
    const row = rows.find((row) => row.name === name)
    if (row === undefined || suits(row.setting)) return []
    const role = `"${row.role.replaceAll('"', '""')}"`
    return [`ALTER ROLE ${role} SET ${name} = ${/^\w+$/.test(value) ? value : `'${value}'`};`]
  })
  if (statements.length === 0) return
  throw new Unsuitable(
    `the address of PostgreSQL leads through a pooler, which gives its connections no settings of ours. Run ${statements.join(' ')} Then run RECONNECT in the console of the pooler, because open connections keep their settings`,
  )
}
