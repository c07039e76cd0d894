import type { StoreBackend } from './store-backend.ts'

/** Scheme, hosts, path. `URL` refuses MongoDB addresses with several hosts. */
const address = /^([a-z][a-z0-9+.-]*:)\/\/[^/?#\s]+(\/[^?#\s]*)?(?:\?[^#\s]*)?$/i

/** A character of a user or password that ends the host, before the `@` behind the password. A number may be a port. */
const unencoded = /^[a-z0-9+.-]+:\/\/[^@/?#]*:(?!\d+[/?#])[^@/?#]*[/?#][^@]*@/i
const maybeUnencoded = /^[a-z0-9+.-]+:\/\/[^/?#]*[/?#].*@/i
const hint = 'must have each /, ?, # and @ of user and password percent-encoded: %2F, %3F, %23, %40'

type Kind = Pick<StoreBackend, 'kind' | 'protocols' | 'needsDatabase' | 'objection'>

/** The fault of the address of a store, worded to follow the name of its option; `null` without one. */
export function addressObjection(store: Kind, url: string | undefined): string | null {
  if (url !== undefined && unencoded.test(url) && store.protocols.length > 0) return hint
  const fault = faultOf(store, url)
  return fault !== null && url !== undefined && maybeUnencoded.test(url)
    ? `${fault}. A user or password ${hint}`
    : fault
}

function faultOf({ kind, protocols, needsDatabase, objection }: Kind, url: string | undefined): string | null {
  if (protocols.length === 0) return null
  const wanted = protocols.map((protocol) => `${protocol}//…`).join(' or ')
  if (url === undefined) return `is required for ${kind}: ${wanted}`
  const [, protocol, path] = address.exec(url) ?? []
  if (protocol === undefined || !protocols.includes(protocol.toLowerCase())) {
    return `must be an address of ${kind}: ${wanted}`
  }
  if (needsDatabase === true && !/^\/[^/]+$/.test(path ?? '')) return `must name a database: ${protocol}//host/name`
  return objection?.(url) ?? null
}
