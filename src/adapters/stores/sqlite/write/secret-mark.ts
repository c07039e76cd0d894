import type { InThread, Writes } from '../protocol.ts'
import type { Statements } from '../statements.ts'

const rowOf = (name = 'secret'): string => (name === 'secret' ? 'secret-mark' : name)

export function secretMarkWrites(sql: Statements): InThread<Writes['secretMark']> {
  return {
    check(_now, mark, name) {
      const keep = sql<[string, string]>(`INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`)
      if (keep.run(rowOf(name), mark).changes === 1) return 'first'
      const kept = sql<[string], { value: string }>('SELECT value FROM meta WHERE name = ?').get(rowOf(name))
      return kept?.value === mark ? 'same' : 'other'
    },

    replace(_now, mark, name) {
      sql<[string, string]>('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)').run(rowOf(name), mark)
    },
  }
}
