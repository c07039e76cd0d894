import type { IncomingMessage } from 'node:http'
import { basePathOf } from '../../../lib/base-path.ts'
import type { Cookie } from '../reply.ts'
import { isRepeated } from './cookie-header.ts'

/**
 * The removals of those `cookies` that a request has more than once, one for each scope that our settings may have given
 * them. A browser keeps the cookie of an earlier `transport.domain` or `path` beside the new one, sends both, and shows no
 * scope (RFC 6265 section 5.4). They must come before a new value, because one of them has its scope.
 */
export type RemoveRepeated = (
  request: Pick<IncomingMessage, 'headers' | 'url'>,
  cookies: readonly Cookie[],
) => Promise<readonly Cookie[]>

/**
 * @param publicUrl the address under which browsers reach the service
 * @param registrableDomain the registrable domain of a host name; `null` for an IP address and a name without one
 */
export function removingRepeated(
  publicUrl: string,
  registrableDomain: (host: string) => Promise<string | null>,
): RemoveRepeated {
  const host = new URL(publicUrl).hostname
  const base = basePathOf(publicUrl)
  return async ({ headers, url = '/' }, cookies) => {
    const repeated = cookies.filter(({ name }) => isRepeated(headers.cookie, name))
    if (repeated.length === 0) return []
    const domains = domainsOf(host, await registrableDomain(host))
    const paths = prefixesOf(pathFor(url, base))
    return repeated.flatMap(({ domain: _, ...cookie }) =>
      [...new Set([...paths, cookie.path])].flatMap((path) => {
        const removal = { ...cookie, path, value: '', maxAgeSeconds: 0 }
        return [removal, ...domains.map((domain) => ({ ...removal, domain }))]
      }),
    )
  }
}

/** The path of a request as the browser sees it: a proxy may have removed the path of the public URL. */
function pathFor(url: string, base: string): string {
  const [path = '/'] = url.split('?')
  return path === base || path.startsWith(`${base}/`) ? path : `${base}${path}`
}

/** The paths whose cookies a browser sends to `path` (RFC 6265 section 5.1.4). No route of ours has more than eight parts. */
function prefixesOf(path: string): string[] {
  const parts = path.split('/').filter((part) => /^[!-:<-~]+$/.test(part))
  return Array.from({ length: Math.min(parts.length, 8) + 1 }, (_, count) => `/${parts.slice(0, count).join('/')}`)
}

/** The host and its parent domains, up to the registrable one. */
function domainsOf(host: string, registrable: string | null): string[] {
  if (registrable === null || !`.${host}`.endsWith(`.${registrable}`)) return []
  const labels = host.split('.')
  const count = labels.length - registrable.split('.').length + 1
  return Array.from({ length: count }, (_, from) => labels.slice(from).join('.'))
}
