import type { Document, FindOneAndUpdateOptions } from 'mongodb'
import type { Limiter } from '../../../application/ports/stores/limiter.ts'
import { additionsPerTrim, limiterOf, maxCounters, noLimit } from '../limiter.ts'
import type { Connection } from './connection/connection.ts'

/** The library's updates: the first adds to a counter or inserts it, the other one begins an expired counter again. */
type Update = { readonly $setOnInsert: Document; readonly $inc: Document } | { readonly $set: Document }

export function mongoLimiter({ limits, run }: Connection, bound = maxCounters): Limiter {
  const collection = {
    deleteOne: (filter: Document) => limits.deleteOne(filter),
    findOneAndUpdate: (filter: Document, update: Update, options: FindOneAndUpdateOptions) =>
      limits.findOneAndUpdate(filter, dated(update), options),
  }
  const storeClient = { collection: () => collection }
  const options = { ...noLimit, storeClient, tableName: limits.collectionName, disableIndexesCreation: true }
  const { add, clear } = limiterOf(({ RateLimiterMongo }) => new RateLimiterMongo(options))
  const trimEvery = additionsPerTrim(bound)
  let additions = 0

  async function trim(): Promise<void> {
    const excess = (await limits.estimatedDocumentCount()) - (bound - trimEvery)
    if (excess <= 0) return
    const [last] = await limits
      .find({}, { projection: { createdAt: 1 } })
      .sort({ createdAt: 1 })
      .skip(excess - 1)
      .limit(1)
      .toArray()
    if (last) await limits.deleteMany({ createdAt: { $lte: last.createdAt } })
  }

  return {
    add: (key, points, seconds) =>
      run(async () => {
        if (++additions % trimEvery === 0) await trim()
        const counted = await add(key, points, seconds)
        if (counted.points <= 0) await limits.deleteOne({ key, points: { $lte: 0 } })
        return counted
      }),
    clear: (key) => run(() => clear(key)),
  }
}

/** Adds the time of creation, so that the oldest counters can be removed first. */
function dated(update: Update): Document {
  const createdAt = new Date()
  if ('$set' in update) return { $set: { ...update.$set, createdAt } }
  return { ...update, $setOnInsert: { ...update.$setOnInsert, createdAt } }
}
