import type { ExpiringIds } from '../../../../application/ports/stores/expiring-ids.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'

export function sqliteExpiringIds(read: Read, writes: Writes['expiringIds'], clock: () => Date): ExpiringIds {
  return {
    ...writes,

    async has(id) {
      const find = 'SELECT 1 FROM expiring_ids WHERE id = ? AND expires_at > ?'
      return read((sql) => sql<[string, number]>(find).get(id, clock().getTime())) !== undefined
    },
  }
}
