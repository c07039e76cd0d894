import type { SingleUseRecord } from '../../../domain/single-use-record.ts'

/** Codes of apps and challenges, beside the one-time tokens. An expired record is absent. */
export interface SingleUseRecords {
  /**
   * `'full'`, and nothing is stored, while there are `maxOpen` live ones. Concurrent calls may exceed this by their number.
   */
  put(record: SingleUseRecord, maxOpen: number): Promise<'stored' | 'full'>
  /** Removes the record and returns it to exactly one of any number of callers. */
  take(key: string): Promise<SingleUseRecord | null>
  /** Deletes at most `limit` expired ones; returns how many. */
  sweep(limit: number): Promise<number>
}
