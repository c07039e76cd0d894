import {
  associateOperations,
  backendOperations,
  operationsOf,
  providerOperations,
  routers,
} from '../plugins/routers.ts'
import type { Settings } from './schema/schema.ts'
import { enabledOf } from './schema/tree.ts'

/** Operations below a prefix (`METHOD /path`), and the setting that puts them there. */
export interface Mounted {
  readonly prefix: string
  readonly setting: string
  readonly operations: readonly string[]
}

/** The operations of every enabled backend, provider and router, in this order. */
export function mountedOperations(settings: Settings): Mounted[] {
  const backends = enabledOf(settings.backends).map(([name, { prefix }]) => ({
    prefix,
    setting: `backends.${name}.prefix`,
    operations: backendOperations,
  }))
  const providers = enabledOf(settings.providers).flatMap(([name, { prefix, associatePrefix }]) => [
    { prefix, setting: `providers.${name}.prefix`, operations: providerOperations },
    { prefix: associatePrefix, setting: `providers.${name}.associatePrefix`, operations: associateOperations },
  ])
  const mounted = routers
    .filter(({ name }) => settings.routers[name].enabled)
    .map((plugin) => ({
      prefix: settings.routers[plugin.name].prefix,
      setting: `routers.${plugin.name}.prefix`,
      operations: operationsOf(plugin),
    }))
  return [...backends, ...providers, ...mounted]
}
