import type { Cookie } from '../reply.ts'
import { isRepeated } from './cookie-header.ts'

/**
 * The removals of those `cookies` that the header of a request has more than once, one for each scope that our settings may
 * have given them. A browser keeps the cookie of an earlier `transport.domain` beside the new one, sends both, and shows no
 * scope (RFC 6265 section 5.4). They must come before a new value, because one of them has its scope.
 */
export type RemoveRepeated = (header: string | undefined, cookies: readonly Cookie[]) => Promise<readonly Cookie[]>

/**
 * @param host the host name under which browsers reach the service
 * @param registrableDomain the registrable domain of a host name; `null` for an IP address and a name without one
 */
export function removingRepeated(
  host: string,
  registrableDomain: (host: string) => Promise<string | null>,
): RemoveRepeated {
  return async (header, cookies) => {
    const repeated = cookies.filter(({ name }) => isRepeated(header, name))
    if (repeated.length === 0) return []
    const domains = domainsOf(host, await registrableDomain(host))
    return repeated.flatMap(({ domain: _, ...cookie }) =>
      [...new Set(['/', cookie.path])].flatMap((path) => {
        const removal = { ...cookie, path, value: '', maxAgeSeconds: 0 }
        return [removal, ...domains.map((domain) => ({ ...removal, domain }))]
      }),
    )
  }
}

/** The host and its parent domains, up to the registrable one. */
function domainsOf(host: string, registrable: string | null): string[] {
  if (registrable === null || !`.${host}`.endsWith(`.${registrable}`)) return []
  const labels = host.split('.')
  const count = labels.length - registrable.split('.').length + 1
  return Array.from({ length: count }, (_, from) => labels.slice(from).join('.'))
}
