import type { IdKind } from '../../../domain/ids.ts'

/** The kind of the users' ids, and the counter for integers. They are stored as durably as the users. */
export interface UserIds {
  /**
   * Stores `kind` at the first start, and returns the kind of the first start at each one. A store with users and without a
   * kind, as an older release leaves it, has the kind of its users. Of several concurrent first starts, one is the first.
   */
  keep(kind: IdKind): Promise<IdKind>

  /** The kind of the first start; `null` before it. */
  kept(): Promise<IdKind | null>

  /**
   * A whole number from 1, above every one that a call has returned on any handle, and above the integers of all users that
   * were inserted. Numbers may be missing, since a registration may fail.
   */
  next(): Promise<number>

  /** Every later number is above `last`. */
  skip(last: number): Promise<void>
}
