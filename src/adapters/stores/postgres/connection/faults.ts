import type { DatabaseError } from 'pg'

export type Driver = typeof import('pg')['default']

/** SQLSTATE classes and codes of a server that may recover (appendix A of PostgreSQL's manual). */
const outage = /^(08|26|53|57|58|28|40|25006$|25P03$|42501$|55P03$|3D000$|42P01$|XX)/ // connections, statements that others removed, resources, operator, system, roles, rollback, replica, tables before a restore

/** Whether the server or the way to it has failed for now. The driver's own errors have no class of their own. */
export function isOutage(driver: Driver, error: unknown): boolean {
  if (error instanceof driver.DatabaseError) return outage.test(error.code ?? '')
  return error instanceof Error && (('code' in error && 'syscall' in error) || ofDriver.test(error.message))
}

/** Whether the connection takes the next statement. No ROLLBACK removes a statement that code of others has prepared. */
export function leavesConnection(driver: Driver, error: unknown): boolean {
  if (!(error instanceof driver.DatabaseError) || isBesideOthers(error)) return false
  return !isOutage(driver, error) || undoneOnly.test(error.code ?? '')
}

/** Whether the error occurred while `users` was written, where triggers of others run. */
export const isBesideOthers = ({ where }: DatabaseError): boolean => /\b(put_users|remove_user)\(/.test(where ?? '')

/** Without a code for it, the server refuses the first connection to a database on a full disk. */
export const isOfFullDisk = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && error.code === '53100') || error.message === 'could not write init file')

/** The server undid the statement, because of another transaction, a lock or its time, and nothing else. */
const undoneOnly = /^(40|55P03$|57014$)/

const ofDriver =
  /^(Connection terminated|timeout e|Query read timeout|Client (has|was)|Cannot use a pool|The server does not)/i

/** Whether the server undid the transaction because of another one, so that it may be tried again. */
export function isRolledBack(driver: Driver, error: unknown): boolean {
  return error instanceof driver.DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/** Whether another transaction held a lock for too long, or the server undid this one because of another. */
export function isBlocked(driver: Driver, error: unknown): boolean {
  return isRolledBack(driver, error) || (error instanceof driver.DatabaseError && error.code === '55P03')
}

/** The name of the violated constraint of a unique key; `null` for other errors. */
export function takenKey(driver: Driver, error: unknown): string | null {
  return error instanceof driver.DatabaseError && error.code === '23505' ? (error.constraint ?? '') : null
}

export type { DatabaseError }
