/** Ids that are remembered for a time, beside the users and as durably as they are. One whose time has come is absent. */
export interface ExpiringIds {
  /** Remembers `id` until then; of several times the latest counts. */
  add(id: string, until: Date): Promise<void>
  has(id: string): Promise<boolean>
  /** Deletes at most `limit` whose time has come; answers how many. */
  sweep(limit: number): Promise<number>
}
