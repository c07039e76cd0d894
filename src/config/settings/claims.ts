import type { Parts } from '../plugins/parts.ts'
import { enabledOf } from './schema/enabled.ts'
import type { Settings } from './schema/schema.ts'

/** Operations below a prefix (`METHOD /path`), and the setting that puts them there. */
export interface Claim {
  readonly prefix: string
  readonly setting: string
  readonly operations: readonly string[]
}

/** What every enabled backend, provider and router lays claim to, in this order. */
export function claimsOf(settings: Settings, parts: Parts): Claim[] {
  const backends = enabledOf(settings.backends).map(([name, { prefix }]) => ({
    prefix,
    setting: `backends.${name}.prefix`,
    operations: parts.backendOperations,
  }))
  const providers = enabledOf(settings.providers).flatMap(([name, { prefix, associatePrefix }]) => [
    { prefix, setting: `providers.${name}.prefix`, operations: parts.providerOperations },
    { prefix: associatePrefix, setting: `providers.${name}.associatePrefix`, operations: parts.associateOperations },
  ])
  const routers = parts.routers.flatMap(({ name, operations }) => {
    const router = Object.entries(settings.routers).find(([key]) => key === name)?.[1]
    return router?.enabled ? [{ prefix: router.prefix, setting: `routers.${name}.prefix`, operations }] : []
  })
  return [...backends, ...providers, ...routers]
}
