import type { InThread, Writes } from '../protocol.ts'
import type { Statements } from '../statements.ts'

export function metaWrites(sql: Statements): InThread<Writes['meta']> {
  return {
    open: () => undefined,

    /** Writes a row, because a full disk lets everything else succeed. */
    ping() {
      sql(
        `INSERT INTO meta (name, value) VALUES ('ping', datetime('now'))
         ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      ).run()
    },
  }
}
