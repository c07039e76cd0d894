import { posix } from 'node:path'
import type { Context } from 'koa'
import { withoutBase } from '../../../lib/base-path.ts'
import { percentDecoded } from '../../../lib/percent-decoded.ts'
import type { CrossOrigin } from './cors.ts'

interface NamedTenant {
  /** The named tenant, which may not exist; `null` if the request names none. */
  readonly id: string | null
  readonly path: string
}

/** The path is without the base. */
type Addressed = Pick<Context, 'req' | 'path'>

export type FindTenant = (request: Addressed) => NamedTenant

export interface TenantRouting {
  /** The path of a request without the path of the public URL, which a proxy may have removed. */
  pathOf(request: Addressed): string
  readonly tenantOf: FindTenant
  readonly fallback: string
  /** Whether there may be several tenants; the log names them then. */
  readonly areMany: boolean
  /** The header that names the tenant; `null` with tenants by path or host. */
  readonly header: string | null
  /** With tenants by path, the tenant that a host app may read in the path of a URL; absent otherwise. */
  readonly looselyNamed?: (url: string) => string | null
  /** The CORS headers of answers for a tenant, also of the 404 for an unknown one. */
  corsOf(id: string): CrossOrigin
  /** The CORS headers of routes that belong to no tenant. */
  commonCors(): CrossOrigin
  corsOfAll(): CrossOrigin
}

/** Node joins a repeated header with a comma, which no tenant's name has. */
export function byHeader(name: string): FindTenant {
  const key = name.toLowerCase()
  return ({ req, path }) => {
    const value = req.headers[key]
    return { id: typeof value === 'string' ? value : null, path }
  }
}

/** `/t/acme/auth/register` is `/auth/register` of acme. */
export function byPath(prefix: string): FindTenant {
  return ({ path }) => namedIn(path, prefix)
}

function namedIn(path: string, prefix: string): NamedTenant {
  const start = `${prefix}/`
  if (!path.startsWith(start)) return { id: null, path }
  const end = path.indexOf('/', start.length)
  if (end === -1) return { id: path.slice(start.length), path: '/' }
  return { id: path.slice(start.length, end), path: path.slice(end) }
}

/** Reads a path as the loosest router or middleware may: in any case and percent encoding, with repeated slashes and dots. */
export function looselyByPath(prefix: string, base: string): (url: string) => string | null {
  return (url) => {
    const [path = ''] = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '').split('?') // RFC 9112 section 3.2.2: a whole URL
    const decoded = (percentDecoded(path) ?? path).replaceAll('\\', '/')
    const loose = withoutBase(posix.normalize(decoded).toLowerCase(), base.toLowerCase())
    return namedIn(loose, prefix.toLowerCase()).id
  }
}

/** Finds the tenant by `Host` alone, because any client could send `X-Forwarded-Host`. */
export function byHost(tenantOf: (host: string) => string | null): FindTenant {
  return ({ req, path }) => {
    const host = (req.headers.host ?? '').toLowerCase().replace(/:\d+$/, '')
    return { id: tenantOf(host), path }
  }
}
