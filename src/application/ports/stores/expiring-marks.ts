import type { Page } from './page.ts'

export interface ExpiringMark {
  readonly id: string
  readonly until: Date
}

/**
 * Facts that are stored for a time under their ids, as durably as the users: ended JWTs, delivered mail, trusted browsers, traces of
 * imports. An expired mark is absent.
 */
export interface ExpiringMarks {
  /** Stores a mark until then. The latest of several times counts. */
  add(id: string, until: Date): Promise<void>
  /** Stores marks of different ids by one write, or none of them. A store has it if it is much faster than `add` for each. */
  addAll?(marks: readonly ExpiringMark[]): Promise<void>
  /** Stores a mark: `true` for exactly one of the callers with this id. A mark is stored until it is swept. */
  claim(id: string, until: Date): Promise<boolean>
  has(id: string): Promise<boolean>
  /** A page of at most `limit` live marks in the order of the UTF-8 bytes of their ids, behind the id `after`. */
  list(limit: number, after: string | null): Promise<Page<ExpiringMark>>
  /** Deletes at most `limit` expired marks; returns how many. */
  sweep(limit: number): Promise<number>
}
