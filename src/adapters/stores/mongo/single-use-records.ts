import type { SingleUseRecords } from '../../../application/ports/stores/single-use-records.ts'
import { type Connection, fullness } from './connection/connection.ts'
import { literal } from './documents.ts'

export function mongoSingleUseRecords({ singleUseRecords, now, run, sweep }: Connection): SingleUseRecords {
  const isFull = fullness(singleUseRecords, () => ({ expiresAt: { $gt: now() } }))

  return {
    put: (record, maxOpen) =>
      run(async () => {
        if (await isFull(maxOpen)) return 'full'
        const { key, ...fields } = record
        await singleUseRecords.insertOne({ _id: key, ...fields })
        return 'stored'
      }),

    take: (key) =>
      run(async () => {
        const document = await singleUseRecords.findOneAndDelete({ _id: literal(key), expiresAt: { $gt: now() } })
        if (document === null) return null
        const { _id, ...fields } = document
        return { key: _id, ...fields }
      }),

    sweep: (limit) => sweep('oauth_states', { expiresAt: { $lte: now() } }, limit),
  }
}
