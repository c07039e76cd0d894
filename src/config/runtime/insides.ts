import type { Logger } from '../../adapters/logging/log.ts'
import type { OpenTenant } from '../composition/tenant.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { LoadedTenants } from '../settings/tenants.ts'
import type { Portcullis } from './embedded.ts'

/** What stands behind an open `Portcullis`, for our own entries alone: none of it is anybody's to rely on. */
export interface Insides {
  /** Common to all tenants, or those of the only one. */
  readonly settings: Settings
  /** `null` where there is only one. */
  readonly tenants: LoadedTenants | null
  readonly log: Logger
  knows(id: string): boolean
  /** Does `work` with a tenant that is known, which is open meanwhile. Throws `Unavailable`. */
  use<R>(id: string, work: (tenant: OpenTenant) => Promise<R>): Promise<R>
}

const insides = new WeakMap<Portcullis, Insides>()

export function keepInsides(portcullis: Portcullis, inside: Insides): void {
  insides.set(portcullis, inside)
}

export function insidesOf(portcullis: Portcullis): Insides {
  const found = insides.get(portcullis)
  if (found === undefined) throw new TypeError('this is not what openPortcullis of the same package resolved to')
  return found
}
