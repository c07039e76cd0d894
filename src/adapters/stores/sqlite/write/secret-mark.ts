import type { InThread, Writes } from '../protocol.ts'
import { rowOf } from '../rows.ts'
import type { Statements } from '../statements.ts'

export function secretMarkWrites(sql: Statements): InThread<Writes['secretMark']> {
  const kept = (name: string | undefined) =>
    sql<[string], { value: string }>('SELECT value FROM meta WHERE name = ?').get(rowOf(name))?.value ?? null
  const keep = (name: string | undefined, text: string): boolean =>
    sql<[string, string]>('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING').run(
      rowOf(name),
      text,
    ).changes === 1

  return {
    check(_now, mark, name) {
      if (keep(name, mark)) return 'first'
      return kept(name) === mark ? 'same' : 'other'
    },

    replace(_now, mark, name) {
      sql<[string, string]>('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)').run(rowOf(name), mark)
    },

    exchange(_now, name, expected, next) {
      if (expected === null) return keep(name, next)
      const change = sql<[string, string, string]>('UPDATE meta SET value = ? WHERE name = ? AND value = ?')
      return change.run(next, rowOf(name), expected).changes === 1
    },
  }
}
