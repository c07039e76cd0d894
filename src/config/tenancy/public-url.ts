import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant, type TenantSettings } from '../settings/tenants.ts'

/** The prefix of every path of a tenant. */
export function pathOfTenant(id: string, { tenants: { by, pathPrefix } }: Settings): string {
  return by === 'path' && id !== defaultTenant ? `${pathPrefix}/${id}` : ''
}

/** Origin under which browsers reach the service. */
export function publicUrl({ http }: Settings, port: number): string {
  const isOther = http.host.startsWith('127.') && http.host !== '127.0.0.1' // RFC 6761 section 6.3: localhost is 127.0.0.1
  return http.publicUrl ?? `http://${isOther ? http.host : 'localhost'}:${port}`
}

/** Address under which browsers reach a tenant. */
export function publicUrlOf({ id, settings, hosts }: TenantSettings, common: Settings, port: number): string {
  const [host] = hosts
  const isAtHost = common.tenants.by === 'host' && host !== undefined && settings.http.publicUrl === undefined
  return isAtHost ? `http://${host}:${port}` : publicUrl(settings, port) + pathOfTenant(id, common)
}
