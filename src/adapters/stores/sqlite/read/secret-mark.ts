import type { SecretMark } from '../../../../application/ports/stores/secret-mark.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'
import { rowOf } from '../rows.ts'

export function sqliteSecretMark(read: Read, writes: Writes['secretMark']): SecretMark {
  return {
    ...writes,

    async read(name) {
      const find = 'SELECT value FROM meta WHERE name = ?'
      return read((sql) => sql<[string], { value: string }>(find).get(rowOf(name)))?.value ?? null
    },
  }
}
