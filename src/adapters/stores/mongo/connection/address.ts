import { percentDecoded } from '../../../../lib/percent-decoded.ts'

export interface MongoOptions {
  /** The address, which names a database: `mongodb://host/name`. */
  readonly url: string
}

/** The parts of an address, as written. It may list several hosts, so `URL` cannot parse it. */
interface Parts {
  readonly protocol: 'mongodb' | 'mongodb+srv'
  /** `user:password@`, or an empty text. */
  readonly credentials: string
  readonly hosts: readonly string[]
  /** Percent-encoded. */
  readonly database: string
  /** The query with its question mark, or an empty text. */
  readonly query: string
}

/**
 * `null` for an address without a database: the driver would use `test`. A slash before the database must be
 * percent-encoded.
 */
export function partsOf(url: string): Parts | null {
  const found = /^(mongodb|mongodb\+srv):\/\/([^@]*@)?([^@/?]+)\/([^?]+)(\?.*)?$/.exec(url)
  if (found === null) return null
  const [, protocol, credentials = '', hosts = '', database = '', query = ''] = found
  const isService = protocol === 'mongodb+srv'
  return {
    protocol: isService ? 'mongodb+srv' : 'mongodb',
    credentials,
    hosts: hosts
      .toLowerCase()
      .split(',')
      .map((host) => (isService || /:\d+$/.test(host) ? host : `${host}:27017`))
      .sort(),
    database,
    query,
  }
}

/** The decoded name; `null` when it cannot be decoded. */
export const databaseOf = ({ database }: Parts): string | null => percentDecoded(database)

/** "MongoDB Limits and Thresholds", naming restrictions. A server refuses such a name only at the first operation. */
const longestName = 63
const forbidden = /[/\\. "$\0]/

export function objection(url: string): string | null {
  const parts = partsOf(url)
  if (parts === null || percentDecoded(parts.credentials) === null) {
    return 'must be like mongodb://user:password@host:27017/name, with each @, :, / and % of user and password percent-encoded'
  }
  if (parts.hosts.some((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? 0) > 65_535)) return 'must have ports up to 65535'
  const name = databaseOf(parts)
  if (name === null || forbidden.test(name)) return 'must name a database without a space or any of /\\."$'
  const bytes = Buffer.byteLength(name)
  if (bytes <= longestName) return null
  return `must name a database of at most ${longestName} bytes, and leads to one whose name has ${bytes}`
}

/** A `mongodb+srv` address uses TLS unless it says otherwise; a `mongodb` address does not unless it says so. */
export function hostsInClear(url: string): readonly string[] {
  const parts = partsOf(url)
  if (parts === null) return []
  const { protocol, hosts, query } = parts
  const said = /[?&](?:tls|ssl)=(true|false)/i.exec(query)?.[1]?.toLowerCase()
  const isTls = said === undefined ? protocol === 'mongodb+srv' : said === 'true'
  if (isTls) return []
  // A Unix socket is written as a path with encoded slashes.
  return hosts.filter((host) => !host.includes('%2f')).map((host) => host.replace(/:\d+$|[[\]]/g, ''))
}

/**
 * Whether the server authenticates the user against the database of the address. A `mongodb+srv` address usually gets
 * another database from DNS, and mechanisms without passwords use a fixed one.
 */
function holdsItsUser({ protocol, credentials, query }: Parts): boolean {
  return protocol === 'mongodb' && credentials !== '' && !/[?&](authSource=|authMechanism=(?!SCRAM|PLAIN))/i.test(query)
}

/** Equal for addresses that can share a client: they differ only in the name of the database. */
export function clientKey(parts: Parts): string {
  const { protocol, credentials, hosts, database, query } = parts
  return `mongo ${protocol}://${credentials}${hosts}/${holdsItsUser(parts) ? database : ''}${query}`
}

/** Lower case, because MongoDB refuses two databases whose names differ only by case. */
export function placeOf({ url }: MongoOptions): string | null {
  const parts = partsOf(url)
  const database = parts && databaseOf(parts)
  return parts && database && `${parts.hosts}/${database.toLowerCase()}`
}

/**
 * Appends the name of the tenant to the name of the database. The user still authenticates against the original one.
 */
export function inherited(address: MongoOptions, tenant: string): MongoOptions {
  const parts = partsOf(address.url)
  if (parts === null) return address
  const { database, query } = parts
  const source = holdsItsUser(parts) ? `${query === '' ? '?' : '&'}authSource=${database}` : ''
  const server = address.url.slice(0, address.url.length - query.length - database.length)
  return { ...address, url: `${server}${database}_${encodeURIComponent(tenant)}${query}${source}` }
}
