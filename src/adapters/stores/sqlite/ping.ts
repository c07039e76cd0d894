import { type Stats, statSync } from 'node:fs'
import { Unavailable } from '../../../domain/refusal.ts'
import type { Statements } from './write/statements.ts'

export function pingWrites(db: Statements) {
  const note = db.prepare<[]>(
    `INSERT INTO meta (name, value) VALUES ('ping', datetime('now'))
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  )
  return {
    /** Writes nothing; succeeds when the file can be opened and locked for writing. */
    reach: () => null,

    /** What only reads, or locks and writes nothing, succeeds on a full disk, too. */
    ping() {
      note.run()
      return null
    },
  }
}

/** Tells whether the file is still the one of its name: SQLite goes on to write what nobody will find again. */
export function samenessOf(path: string): () => void {
  const opened = found(path)
  return () => {
    const { dev, ino } = found(path)
    if (dev !== opened.dev || ino !== opened.ino) throw new Unavailable(`${path}, which was replaced`)
  }
}

function found(path: string): Stats {
  try {
    return statSync(path)
  } catch (cause) {
    throw new Unavailable(`${path}, which is not to be found`, { cause })
  }
}
