import { Unavailable } from '../../../domain/refusal.ts'

/** Result codes of faults in the file or its disk, not in the statement. Extended codes begin with them. */
const outages = [
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_IOERR',
  'SQLITE_FULL',
  'SQLITE_CANTOPEN',
  'SQLITE_READONLY',
  'SQLITE_PROTOCOL',
  'SQLITE_NOMEM',
  'SQLITE_PERM',
  'SQLITE_AUTH',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
]

/** SQLite's result code, `''` for any other error. */
export function codeOf(error: unknown): string {
  return error instanceof Error && error.name === 'SqliteError' && 'code' in error ? String(error.code) : ''
}

export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY')
}

export function isDamaged(error: unknown): boolean {
  return /^SQLITE_(NOTADB|CORRUPT)/.test(codeOf(error))
}

/** Whether the store is at fault, not the statement. */
export function isOutage(error: unknown): boolean {
  const code = codeOf(error)
  return outages.some((outage) => code.startsWith(outage))
}

/** Turns an outage into `Unavailable`, and returns other errors unchanged. */
export function asFault(error: unknown): unknown {
  if (!isOutage(error)) return error
  return new Unavailable(`SQLite does not answer (${codeOf(error)})`, { cause: error })
}
