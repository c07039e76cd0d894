import type { ExpiringMarks } from '../../../../application/ports/stores/expiring-marks.ts'
import type { Read } from '../connection.ts'
import type { Writes } from '../protocol.ts'

export function sqliteExpiringMarks(read: Read, writes: Writes['expiringMarks'], clock: () => Date): ExpiringMarks {
  return {
    ...writes,

    async has(id) {
      const find = 'SELECT 1 FROM expiring_ids WHERE id = ? AND expires_at > ?'
      return read((sql) => sql<[string, number]>(find).get(id, clock().getTime())) !== undefined
    },

    async list(limit, after) {
      const behind = 'SELECT id, expires_at FROM expiring_ids WHERE id > ? AND expires_at > ? ORDER BY id LIMIT ?'
      const rows = read((sql) =>
        sql<[string, number, number], { id: string; expires_at: number }>(behind).all(
          after ?? '',
          clock().getTime(),
          limit,
        ),
      )
      const items = rows.map(({ id, expires_at }) => ({ id, until: new Date(expires_at) }))
      return { items, next: items.length === limit ? (items.at(-1)?.id ?? null) : null }
    },
  }
}
