import { isDeepStrictEqual } from 'node:util'
import type { Settings } from '../config/settings/schema/schema.ts'
import { keysOf, memberOf } from '../config/settings/schema/tree.ts'
import { shared } from '../config/settings/tenants.ts'

/** Paths of settings that no tenant has for itself and that differ: only a new process takes them up. */
export function changedForAll(before: Settings, after: Settings): string[] {
  const paths = new Set([...pathsOf(before), ...pathsOf(after)])
  return [...paths].filter((path) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)))
}

/** Those of the tenants one by one, without what holds the tenants themselves. */
function pathsOf(settings: Settings): string[] {
  const ofTenants = keysOf(settings.tenants).filter((key) => key !== 'list' && key !== 'folder')
  const others = shared({ ...settings }).filter((path) => path !== 'tenants')
  return [...others, ...ofTenants.map((key) => `tenants.${key}`)]
}

function valueAt(settings: Settings, path: string): unknown {
  return path.split('.').reduce<unknown>(memberOf, settings)
}
