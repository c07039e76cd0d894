import type { Collection } from 'mongodb'
import type { ExpiringDocument } from './documents.ts'

/** Deletes at most `limit` expired records; a session that was touched in between is spared. */
export async function sweepExpired(
  collection: Collection<ExpiringDocument>,
  now: Date,
  limit: number,
): Promise<number> {
  const expired = { expiresAt: { $lte: now } }
  const candidates = await collection
    .find(expired, { projection: { _id: 1 } })
    .limit(limit)
    .toArray()
  if (candidates.length === 0) return 0
  const ids = candidates.map(({ _id }) => _id)
  const { deletedCount } = await collection.deleteMany({ _id: { $in: ids }, ...expired })
  return deletedCount
}
