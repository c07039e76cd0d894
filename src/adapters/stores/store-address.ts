import type { StoreBackend } from './store-backend.ts'

/** Scheme, hosts, path. `URL` refuses MongoDB addresses with several hosts. */
const address = /^([a-z][a-z0-9+.-]*:)\/\/[^/?#\s]+(\/[^?#\s]*)?(?:\?[^#\s]*)?$/i

/** A character of a user or password that ends the host, before the `@` behind the password. */
const unencoded = /^[a-z0-9+.-]+:\/\/[^@/?#]*:(?!\d+[/?#])[^@/?#]*[/?#][^@]*@/i

type Kind = Pick<StoreBackend, 'kind' | 'protocols' | 'needsDatabase' | 'objection'>

/** The fault of the address of a store, worded to follow the name of its option; `null` without one. */
export function addressObjection(
  { kind, protocols, needsDatabase, objection }: Kind,
  url: string | undefined,
): string | null {
  if (protocols.length === 0) return null
  const wanted = protocols.map((protocol) => `${protocol}//…`).join(' or ')
  if (url === undefined) return `is required for ${kind}: ${wanted}`
  if (unencoded.test(url))
    return 'must have each /, ?, # and @ of user and password percent-encoded: %2F, %3F, %23, %40'
  const [, protocol, path] = address.exec(url) ?? []
  if (protocol === undefined || !protocols.includes(protocol.toLowerCase())) {
    return `must be an address of ${kind}: ${wanted}`
  }
  if (needsDatabase === true && !/^\/[^/]+$/.test(path ?? '')) return `must name a database: ${protocol}//host/name`
  return objection?.(url) ?? null
}
