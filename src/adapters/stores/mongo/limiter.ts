import type { Limiter } from '../../../application/ports/stores/limiter.ts'
import { additionsPerTrim, maxCounters } from '../limiter.ts'
import type { Connection } from './connection/connection.ts'

export function mongoLimiter({ limits, run, isDuplicate }: Connection, bound = maxCounters): Limiter {
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

  /** Adds to a live counter, or inserts one. The key is unique, so an expired counter has to go first. */
  async function counted(key: string, points: number, seconds: number) {
    for (;;) {
      const createdAt = new Date()
      const expire = new Date(createdAt.getTime() + seconds * 1000)
      try {
        const update = { $inc: { points }, $setOnInsert: { expire, createdAt } }
        const options = { upsert: true, returnDocument: 'after' } as const
        const counter = await limits.findOneAndUpdate({ key, expire: { $gt: createdAt } }, update, options)
        if (counter === null) throw new Error('an upsert returned no counter')
        return { points: counter.points, expiresIn: counter.expire.getTime() - createdAt.getTime() }
      } catch (error) {
        if (!isDuplicate(error)) throw error
        await limits.deleteOne({ key, expire: { $lte: createdAt } })
      }
    }
  }

  return {
    add: (key, points, seconds) =>
      run(async () => {
        if (++additions % trimEvery === 0) await trim()
        const counter = await counted(key, points, seconds)
        if (counter.points <= 0) await limits.deleteOne({ key, points: { $lte: 0 } })
        return counter
      }),

    clear: (key) =>
      run(async () => {
        await limits.deleteOne({ key })
      }),
  }
}
