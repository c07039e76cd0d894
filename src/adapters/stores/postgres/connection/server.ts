import { Unavailable } from '../../../../domain/refusal.ts'
import { Unsuitable } from '../../store-backend.ts'
import type { Queries } from './connection.ts'
import { requireSettings } from './session.ts'

const leastVersion = 150_000

interface Server {
  readonly version: number
  readonly name: string
  readonly encoding: string
  readonly is_replica: boolean
  readonly synchronous_commit: string
}

const read = `
  SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS name,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_replica,
    current_setting('synchronous_commit') AS synchronous_commit`

/** Throws `Unsuitable` for a server that cannot keep the promises. */
export async function requireSuitable(queries: Queries): Promise<void> {
  const server = await queries.one<Server>(read)
  if (server === undefined) throw new Unavailable('PostgreSQL did not tell its version')
  if (server.version < leastVersion) throw new Unsuitable(`PostgreSQL ${server.name} is too old: use 15 or later`)
  if (server.encoding !== 'UTF8') {
    throw new Unsuitable(
      `the database has the encoding ${server.encoding}: create one with ENCODING 'UTF8' and name it in url`,
    )
  }
  if (server.is_replica) throw new Unsuitable('the server is a replica: name the primary in url')
  if (server.synchronous_commit === 'off') {
    throw new Unsuitable(
      'synchronous_commit is off, so the server could lose acknowledged writes: set it to on for the server, the database or the user',
    )
  }
  await requireSettings(queries.all)
}

/** Turns the errors that only the operator can end into `Unsuitable`. */
export async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const cause = error instanceof Unavailable ? error.cause : error
    const reason = reasonOf(cause)
    throw reason === undefined ? error : new Unsuitable(`PostgreSQL: ${reason}`, { cause })
  }
}

function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const ofMessage = messages.find(([message]) => message.test(error.message))?.[1]
  if (ofMessage !== undefined) return `${ofMessage} (${error.message})`
  if (!('code' in error)) return unmendableOfDriver.find(([message]) => message.test(error.message))?.[1]
  const code = String(error.code)
  const ofCertificate = certificates.find(([codes]) => codes.test(code))?.[1]
  if (ofCertificate !== undefined) return `${ofCertificate} (${error.message})`
  const known = unmendable.find(([codes]) => codes.includes(code))?.[1]
  return known && `${known} (${error.message})`
}

/** By the codes of OpenSSL and of Node. The first one that matches counts. */
const certificates = [
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'the certificate of the server names another host: write a host of the certificate in url, or sslmode=verify-ca to accept every host',
  ],
  [
    /^DEPTH_ZERO_SELF_SIGNED_CERT$/,
    'the server has a self-signed certificate: name the file of this certificate in sslrootcert of the address',
  ],
  [/^CERT_HAS_EXPIRED$/, 'the certificate of the server has expired: renew it'],
  [
    /^(CERT_(?!NOT_YET_VALID)|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/,
    'the certificate of the server is not trusted. If a CA of your own signed it, name the file of this CA in sslrootcert of the address',
  ],
] as const

/** Servers and poolers share codes between these causes and others. */
const messages = [
  [
    /, no encryption$|\b(SSL|TLS)\b.*\brequired\b|\bsslmode=require\b/,
    'it refuses a connection without TLS: write ?sslmode=require behind its address, or allow the connection in pg_hba.conf',
  ],
  [
    /\bstatement pooling mode\b/,
    'its address leads through a pooler in statement mode, which allows no transactions: set pool_mode to transaction there',
  ],
] as const

/** The driver's own errors have no codes. */
const unmendableOfDriver = [
  [/^SASL: .*password must/, 'it asks for a password, and its address has none: add it in url'],
  [
    /^The server does not support SSL/,
    'the server has no TLS. Switch it on there, or write sslmode=disable in its address',
  ],
] as const

/** The next steps of the operator, by the codes of the errors (appendix A of the manual of PostgreSQL). */
const unmendable: readonly (readonly [codes: readonly string[], text: string])[] = [
  [['28P01'], 'it refuses the user or the password in its address: correct them in url'],
  [['28000'], 'it refuses the user in its address: create the user with LOGIN, or allow the connection in pg_hba.conf'],
  [
    ['3D000'],
    'the database in its address does not exist: create it (createdb --encoding UTF8), or name another one in url',
  ],
  [
    ['42501'],
    'the user in its address may not use this schema or create it in this database: make it the owner of the schema, or GRANT CREATE ON DATABASE to it',
  ],
  [['42P07', '42710', '42P06'], 'the schema has objects of another program: choose an unused one with schema'],
  [
    ['42703', '42P01', '42804', '42883'],
    'the tables of the schema are not those of Portcullis: choose an unused one with schema, or restore a backup',
  ],
]
