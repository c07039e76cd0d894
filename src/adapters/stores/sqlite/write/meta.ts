import type { UsersRole } from '../../store-backend.ts'
import type { SqliteFile } from '../file.ts'
import type { Statements } from './statements.ts'

export function secretMarkWrites(db: Statements) {
  const keep = db.prepare<[string]>(
    `INSERT INTO meta (name, value) VALUES ('secret-mark', ?) ON CONFLICT (name) DO NOTHING`,
  )
  const kept = db.prepare<[], string>(`SELECT value FROM meta WHERE name = 'secret-mark'`).pluck()

  return {
    checkSecret(mark: string): 'first' | 'same' | 'other' {
      if (keep.run(mark).changes === 1) return 'first'
      return kept.get() === mark ? 'same' : 'other'
    },
  }
}

export function secretMark(file: SqliteFile): UsersRole['checkSecret'] {
  return (mark) => file.write('checkSecret', mark)
}
