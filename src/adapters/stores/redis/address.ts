import { percentDecoded } from '../../../lib/percent-decoded.ts'

export interface RedisOptions {
  readonly url: string
  /** The prefix of every key; by default `portcullis:`. */
  readonly prefix?: string
}

const usualPrefix = 'portcullis:'

export const prefixOf = ({ prefix }: RedisOptions): string => prefix ?? usualPrefix

/** The reason why ioredis would misread this address, worded to follow the name of the setting; `null` without one. */
export function objection(url: string): string | null {
  if (!URL.canParse(url)) return 'must be a URL such as redis://user:password@host:6379/0'
  const { username, password, pathname, searchParams } = new URL(url)
  if (percentDecoded(username + password) === null)
    return 'must have each % of its user and password percent-encoded, as %25'
  // ioredis reads a path that is no number as database 0.
  if (!/^\/?\d*$/.test(pathname)) return 'must have the number of a database for its path, or none'
  for (const name of searchParams.keys()) {
    // ioredis would let a parameter override any option.
    if (name !== 'family') return `must not have the query parameter "${name}": only "family" is known`
  }
  return null
}

export const databaseOf = (url: string): number => Number(new URL(url).pathname.slice(1))

/** `host:port/database`. `URL` normalises neither the case of the host nor the port of a `redis:` address. */
function placeOfUrl(url: string): string {
  const { hostname, port } = new URL(url)
  return `${hostname.toLowerCase() || 'localhost'}:${port || 6379}/${databaseOf(url)}`
}

/** Equal for addresses that can share a connection: same user, password, server and options. */
export function connectionKey(url: string): string {
  const { protocol, username, password, search } = new URL(url)
  return `redis ${protocol}//${username}:${password}@${placeOfUrl(url)}${search}`
}

export function hostsInClear(url: string): readonly string[] {
  if (!URL.canParse(url)) return []
  const { protocol, hostname } = new URL(url)
  return protocol === 'rediss:' ? [] : [hostname.replace(/^\[|\]$/g, '') || 'localhost']
}

export function placeOf(address: RedisOptions): string | null {
  if (objection(address.url) !== null) return null
  return `${placeOfUrl(address.url)} ${prefixOf(address)}`
}

export function inherited(address: RedisOptions, tenant: string): RedisOptions {
  return { ...address, prefix: `${prefixOf(address)}${tenant}:` }
}
