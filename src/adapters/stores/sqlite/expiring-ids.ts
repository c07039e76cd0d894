import type { ExpiringIds } from '../../../application/ports/stores/expiring-ids.ts'
import { bulk } from './bulk.ts'
import type { SqliteFile } from './file.ts'
import type { Statements } from './write/statements.ts'

/** Runs in the writer's thread. */
export function expiringIdWrites(db: Statements) {
  const add = db.prepare<[string, number]>(
    `INSERT INTO expiring_ids (id, expires_at) VALUES (?, ?)
     ON CONFLICT (id) DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)`,
  )
  const sweep = db.prepare<[number, number]>(
    `DELETE FROM expiring_ids
     WHERE id IN (SELECT id FROM expiring_ids WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  )

  return {
    addExpiringId(id: string, until: number): void {
      add.run(id, until)
    },
    sweepExpiringIds: (now: number, limit: number): number => sweep.run(now, limit).changes,
  }
}

export function sqliteExpiringIds(file: SqliteFile, clock: () => Date): ExpiringIds {
  const byId = file.query<[string, number], unknown>('SELECT 1 FROM expiring_ids WHERE id = ? AND expires_at > ?')
  const expired = file.query<[number], unknown>('SELECT 1 FROM expiring_ids WHERE expires_at <= ? LIMIT 1')

  return {
    add: (id, until) => file.write('addExpiringId', id, until.getTime()),

    async has(id) {
      return byId.get(id, clock().getTime()) !== undefined
    },

    async sweep(limit) {
      const now = clock().getTime()
      if (expired.get(now) === undefined) return 0
      return file.write('sweepExpiringIds', now, Math.min(limit, bulk))
    },
  }
}
