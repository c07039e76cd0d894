import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { percentDecoded } from '../../../../lib/percent-decoded.ts'
import { Unsuitable } from '../../store-backend.ts'

export interface PostgresOptions {
  /** The address, which names a database: `postgres://user:password@host/name`, or several hosts: `host,other:5433`. */
  readonly url: string
  /** The address of the server itself, beside a `url` of a pooler in transaction mode, which passes on no announcements. */
  readonly directUrl?: string
  /** The schema of the tables; by default `portcullis`. */
  readonly schema?: string
}

export interface Address {
  readonly user: string | undefined
  readonly password: string | undefined
  /** At least one. The service uses the primary among several. */
  readonly hosts: readonly Host[]
  readonly database: string
  readonly sslMode: SslMode
  /** A file with the certificates of the CAs, in place of those that Node trusts. */
  readonly caFile: string | undefined
}

export interface Host {
  readonly host: string
  readonly port: number
}

/** The modes of libpq: `require` verifies nothing either, and is `verify-ca` beside a file of CAs. */
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const
type SslMode = (typeof sslModes)[number]

const usualPort = 5432
const knownOptions = new Set(['sslmode', 'sslrootcert'])
export const usualSchema = 'portcullis'

/** Scheme and user, the hosts, the rest. `URL` refuses several hosts. */
const parts = /^([a-z]+:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(.*)$/i

function parsedOf(url: string): { readonly parsed: URL; readonly hosts: readonly Host[] } | null {
  const [, before = '', listed = '', rest = ''] = parts.exec(url) ?? []
  const each = listed.split(',').map((host) => URL.parse(`${before}${host}${rest}`))
  const [parsed = null] = each
  if (parsed === null) return null
  const hosts = each.flatMap((one) => (one === null || (one.hostname === '' && each.length > 1) ? [] : [hostOf(one)]))
  return hosts.length === each.length ? { parsed, hosts } : null
}

function hostOf({ hostname, port }: URL): Host {
  return { host: hostname.replace(/^\[|\]$/g, '').toLowerCase(), port: Number(port || usualPort) }
}

/** `null` for an address that cannot be used. */
export function addressOf(url: string): Address | null {
  const { parsed, hosts } = parsedOf(url) ?? { parsed: null, hosts: [] }
  const database = parsed && percentDecoded(parsed.pathname.slice(1))
  if (parsed === null || !database) return null
  const [user, password] = [parsed.username, parsed.password].map(percentDecoded)
  if (user === null || password === null) return null
  const sslMode = sslModes.find((mode) => mode === (parsed.searchParams.get('sslmode') ?? 'disable'))
  if (sslMode === undefined) return null
  return {
    user: user || undefined,
    password: password || undefined,
    hosts,
    database,
    sslMode,
    caFile: parsed.searchParams.get('sslrootcert') ?? undefined,
  }
}

export function objection(url: string): string | null {
  const parsed = parsedOf(url)?.parsed
  if (parsed === undefined || addressOf(withoutOptions(url)) === null) {
    return 'must be like postgres://user:password@host:5432/name, with each @, :, / and % of user and password percent-encoded'
  }
  const unknown = [...parsed.searchParams.keys()].find((name) => !knownOptions.has(name))
  if (unknown !== undefined) return `has the option ${unknown}; it may have ${[...knownOptions].join(' and ')}`
  return addressOf(url) === null ? `must have an sslmode of ${sslModes.join(', ')}` : null
}

const withoutOptions = (url: string): string => url.replace(/\?.*$/, '')

export function hostsInClear(url: string): readonly string[] {
  const address = addressOf(url)
  return address === null || address.sslMode !== 'disable' ? [] : address.hosts.map(({ host }) => host)
}

export const schemaOf = ({ schema = usualSchema }: Pick<PostgresOptions, 'schema'>): string => schema

export function placeOf(options: PostgresOptions): string | null {
  const address = addressOf(options.url)
  const hosts = address?.hosts.map(({ host, port }) => `${host}:${port}`).sort()
  return address && `${hosts}/${address.database}/${schemaOf(options)}`
}

/**
 * The tenant gets a schema of its own in the same database. The settings bound both parts, because PostgreSQL cuts names after
 * 63 bytes (section 4.1.1 of its manual).
 */
export function inherited(own: PostgresOptions, tenant: string): PostgresOptions {
  return { ...own, schema: `${schemaOf(own)}_${tenant}` }
}

/** Equal for addresses that can share a pool: they differ only in the schema. */
export const poolKey = (url: string): string => `postgres ${url}`

/** Throws `Unsuitable` if the file of the CA cannot be read or has no certificate. */
export function tlsOf({ sslMode, caFile }: Address): ConnectionOptions | false {
  if (sslMode === 'disable') return false
  if (sslMode === 'require' && caFile === undefined) return { rejectUnauthorized: false }
  const ca = caFile === undefined ? {} : { ca: readCa(caFile) }
  if (sslMode !== 'verify-full') return { ...ca, checkServerIdentity: () => undefined }
  return ca // the driver compares the name of the host
}

function readCa(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Unsuitable(`sslrootcert in the address of PostgreSQL cannot be read: ${(error as Error).message}`)
  }
  // Node would trust its own CAs instead of those of an empty file.
  if (/-BEGIN [A-Z0-9 ]*CERTIFICATE-/.test(text)) return text
  throw new Unsuitable(`sslrootcert in the address of PostgreSQL names ${file}, which has no certificate in PEM`)
}
