import type { SingleUseRecords } from '../../../application/ports/stores/single-use-records.ts'
import type { SingleUseRecord } from '../../../domain/single-use-record.ts'
import { sweep } from './sweep.ts'

export function memorySingleUseRecords(clock: () => Date): SingleUseRecords {
  const records = new Map<string, SingleUseRecord>()
  const isOver = (record: SingleUseRecord): boolean => record.expiresAt <= clock()

  return {
    async put(record, maxOpen) {
      if (records.size >= maxOpen) sweep(records, isOver, records.size)
      if (records.size >= maxOpen) return 'full'
      records.set(record.key, record)
      return 'stored'
    },

    async take(key) {
      const record = records.get(key)
      records.delete(key)
      return record === undefined || isOver(record) ? null : record
    },

    sweep: async (limit) => sweep(records, isOver, limit),
  }
}
