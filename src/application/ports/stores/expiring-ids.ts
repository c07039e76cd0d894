/** Ids that are stored for a time, as durably as the users. An expired id is absent. */
export interface ExpiringIds {
  /** Stores `id` until then. The latest of several times counts. */
  add(id: string, until: Date): Promise<void>
  has(id: string): Promise<boolean>
  /** Deletes at most `limit` expired ids; returns how many. */
  sweep(limit: number): Promise<number>
}
