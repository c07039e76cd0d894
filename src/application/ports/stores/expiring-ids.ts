import type { Page } from './page.ts'

export interface ExpiringId {
  readonly id: string
  readonly until: Date
}

/** Ids that are stored for a time, as durably as the users. An expired id is absent. */
export interface ExpiringIds {
  /** Stores `id` until then. The latest of several times counts. */
  add(id: string, until: Date): Promise<void>
  /** Stores different ids by one write, or none of them. A store has it if it is much faster than `add` for each. */
  addAll?(ids: readonly ExpiringId[]): Promise<void>
  /** Stores `id`: `true` for exactly one of its callers. An id is stored until it is swept. */
  claim(id: string, until: Date): Promise<boolean>
  has(id: string): Promise<boolean>
  /** A page of at most `limit` live ids in the order of their UTF-8 bytes, behind the id `after`. */
  list(limit: number, after: string | null): Promise<Page<ExpiringId>>
  /** Deletes at most `limit` expired ids; returns how many. */
  sweep(limit: number): Promise<number>
}
