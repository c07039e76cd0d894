import type { TenantTexts } from '../../../../application/ports/stores/tenant-texts.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'
import { rowOf } from '../rows.ts'

export function sqliteTenantTexts(read: Read, writes: Writes['tenantTexts']): TenantTexts {
  return {
    ...writes,

    async read(name) {
      const find = 'SELECT value FROM meta WHERE name = ?'
      return read((sql) => sql<[string], { value: string }>(find).get(rowOf(name)))?.value ?? null
    },
  }
}
