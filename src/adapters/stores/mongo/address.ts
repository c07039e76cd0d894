import type { StoreAddress } from '../store-backend.ts'

/** The parts of an address as they are written. It may name several hosts, so that no parser of URLs takes it. */
interface Parts {
  readonly protocol: 'mongodb' | 'mongodb+srv'
  /** `user:password@`, or nothing. */
  readonly credentials: string
  readonly hosts: readonly string[]
  /** Percent-encoded. */
  readonly database: string
  /** With its question mark, or nothing. */
  readonly query: string
}

/** `null` for an address without a database: the driver would use `test`. A slash before it is always percent-encoded. */
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

/** What its name says, `null` where it cannot be decoded. */
export const databaseOf = ({ database }: Parts): string | null => decoded(database)

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** "MongoDB Limits and Thresholds", naming restrictions: a server refuses such a database when it is first asked. */
const longestName = 63
const forbidden = /[/\\. "$\0]/

export function objection(url: string): string | null {
  const parts = partsOf(url)
  if (parts === null || decoded(parts.credentials) === null) {
    return 'must be like mongodb://user:password@host:27017/name, with each @, :, / and % of user and password percent-encoded'
  }
  if (parts.hosts.some((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? 0) > 65_535)) return 'must have ports up to 65535'
  const name = databaseOf(parts)
  if (name === null || forbidden.test(name)) return 'must name a database without a space or any of /\\."$'
  const bytes = Buffer.byteLength(name)
  if (bytes <= longestName) return null
  return `must name a database of at most ${longestName} bytes, and leads to one whose name has ${bytes}`
}

/** A service's name (SRV) goes with TLS unless its address says otherwise, any other address the other way round. */
export function hostsInClear(url: string): readonly string[] {
  const parts = partsOf(url)
  if (parts === null) return []
  const { protocol, hosts, query } = parts
  const said = /[?&](?:tls|ssl)=(true|false)/i.exec(query)?.[1]?.toLowerCase()
  const isTls = said === undefined ? protocol === 'mongodb+srv' : said === 'true'
  if (isTls) return []
  // A socket of this machine is written as a path, whose slashes are encoded.
  return hosts.filter((host) => !host.includes('%2f')).map((host) => host.replace(/:\d+$|[[\]]/g, ''))
}

/**
 * Whether the server looks up the user of the address in its database. The name of a service brings along, as a rule,
 * where else; mechanisms other than passwords have a place of their own.
 */
function holdsItsUser({ protocol, credentials, query }: Parts): boolean {
  return protocol === 'mongodb' && credentials !== '' && !/[?&](authSource=|authMechanism=(?!SCRAM|PLAIN))/i.test(query)
}

/** The same for addresses that one client serves: those that differ in the name of the database only. */
export function clientKey(parts: Parts): string {
  const { protocol, credentials, hosts, database, query } = parts
  return `mongo ${protocol}://${credentials}${hosts}/${holdsItsUser(parts) ? database : ''}${query}`
}

/** MongoDB refuses two databases whose names differ by case only. */
export function placeOf({ url }: StoreAddress): string | null {
  const parts = partsOf(url ?? '')
  const database = parts && databaseOf(parts)
  return parts && database && `${parts.hosts}/${database.toLowerCase()}`
}

/** The database of the address with the tenant's name behind it. Its user is known where it was before. */
export function inherited(address: StoreAddress, tenant: string): StoreAddress {
  const parts = partsOf(address.url ?? '')
  if (address.url === null || parts === null) return address
  const { database, query } = parts
  const source = holdsItsUser(parts) ? `${query === '' ? '?' : '&'}authSource=${database}` : ''
  const server = address.url.slice(0, address.url.length - query.length - database.length)
  return { ...address, url: `${server}${database}_${encodeURIComponent(tenant)}${query}${source}` }
}
