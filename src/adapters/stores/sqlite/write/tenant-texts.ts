import type { InThread, Writes } from '../protocol.ts'
import { rowOf } from '../rows.ts'
import type { Statements } from '../statements.ts'

export function tenantTextWrites(sql: Statements): InThread<Writes['tenantTexts']> {
  return {
    exchange(_now, name, expected, next) {
      if (expected === null) {
        const keep = sql<[string, string]>('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING')
        return keep.run(rowOf(name), next).changes === 1
      }
      const change = sql<[string, string, string]>('UPDATE meta SET value = ? WHERE name = ? AND value = ?')
      return change.run(next, rowOf(name), expected).changes === 1
    },
  }
}
