import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Assignment } from './merge.ts'
import { type Fault, SettingsFault, type Source } from './schema/fault.ts'
import { memberOf } from './schema/tree.ts'
import { readSettingsFile } from './sources/file.ts'

/** Settings of the environment, and the faults of their variables. */
export interface Variables {
  readonly assignments: readonly Assignment[]
  readonly faults: readonly Fault[]
}

export const noVariables: Variables = { assignments: [], faults: [] }

/** The tenant of a setting below `tenants.list`. */
function tenantOf([group, list, id]: readonly string[]): string | null {
  return group === 'tenants' && list === 'list' && id !== undefined ? id : null
}

/** Separates the variables below `tenants.list.<tenant>`. Their paths begin below the tenant from here on. */
export function byTenant({ assignments, faults }: Variables) {
  const located = faults.map((one) => ({ ...one, keys: one.path.split('.') }))
  const of = (id: string | null): Variables => {
    const start = id === null ? 0 : 3
    return {
      assignments: assignments
        .filter(({ path }) => tenantOf(path) === id)
        .map((one) => ({ ...one, path: one.path.slice(start) })),
      faults: located
        .filter(({ keys }) => tenantOf(keys) === id)
        .map(({ keys, ...one }) => ({ ...one, path: keys.slice(start).join('.') })),
    }
  }
  const ids = new Set([...assignments.map(({ path }) => path), ...located.map(({ keys }) => keys)].map(tenantOf))
  return { common: of(null), ofTenants: new Map([...ids].flatMap((id) => (id === null ? [] : [[id, of(id)]]))) }
}

/** The settings of a tenant as its entry or its file has them. */
export interface Given {
  readonly tree: unknown
  readonly source: Source
  /** The reason why the file cannot be read. */
  readonly problem: string | null
}

/** The files of tenants by the name of the tenant. Throws when the folder cannot be read, because that concerns all tenants. */
export async function readFolder(folder: string | null, source: Source): Promise<Map<string, Given>> {
  if (folder === null) return new Map()
  let names: string[]
  try {
    names = await readdir(folder)
  } catch (error) {
    const message = `${folder} cannot be read (${String(memberOf(error, 'code') ?? error)})`
    throw new SettingsFault([{ path: 'tenants.folder', message, source }])
  }
  // Editors and Kubernetes add files whose names begin with a dot.
  const files = names.filter((name) => name.endsWith('.json') && !name.startsWith('.')).sort()
  return new Map(
    await Promise.all(
      files.map(async (name): Promise<[string, Given]> => {
        const read = await readSettingsFile(join(folder, name))
        const tree = 'value' in read ? read.value : {}
        return [
          name.slice(0, -'.json'.length),
          { tree, source: `file ${join(folder, name)}`, problem: 'problem' in read ? read.problem : null },
        ]
      }),
    ),
  )
}
