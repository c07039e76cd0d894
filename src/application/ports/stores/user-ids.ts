import type { IdKind } from '../../../domain/ids.ts'

/** The kind of the users' ids, and the counter for integers. They are stored as durably as the users. */
export interface UserIds {
  /**
   * Stores `kind` at the first start, and returns the kind of the first start at each one. A store that had users before it
   * knew kinds has `uuid`. Of several concurrent first starts, one is the first.
   */
  keep(kind: IdKind): Promise<IdKind>

  /**
   * A whole number from 1, above every one that a call has returned on any handle, and above the integers of all users that
   * were inserted. Numbers may be missing, since a registration may fail.
   */
  next(): Promise<number>
}
