import type { InThread, Writes } from '../protocol.ts'
import type { Statements } from '../statements.ts'

export function secretMarkWrites(sql: Statements): InThread<Writes['secretMark']> {
  return {
    check(_now, mark) {
      const keep = sql<[string]>(
        `INSERT INTO meta (name, value) VALUES ('secret-mark', ?) ON CONFLICT (name) DO NOTHING`,
      )
      if (keep.run(mark).changes === 1) return 'first'
      const kept = sql<[], { value: string }>(`SELECT value FROM meta WHERE name = 'secret-mark'`).get()
      return kept?.value === mark ? 'same' : 'other'
    },

    replace(_now, mark) {
      sql<[string]>(`INSERT OR REPLACE INTO meta (name, value) VALUES ('secret-mark', ?)`).run(mark)
    },
  }
}
