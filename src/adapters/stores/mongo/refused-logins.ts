import { maxRefusedLogins, type RefusedLogins } from '../../../application/ports/stores/refused-logins.ts'
import { additionsPerTrim, maxCounters } from '../limiter.ts'
import { fromJson, toJson } from '../refused-login-json.ts'
import type { Connection } from './connection/connection.ts'
import { literal } from './documents.ts'

export function mongoRefusedLogins(
  { refusedLogins, run, upsert, sweep }: Connection,
  bound = maxCounters,
): RefusedLogins {
  const trimEvery = additionsPerTrim(bound)
  let additions = 0

  async function trim(): Promise<void> {
    const excess = (await refusedLogins.estimatedDocumentCount()) - (bound - trimEvery)
    if (excess <= 0) return
    const [last] = await refusedLogins
      .find({}, { projection: { latest: 1 } })
      .sort({ latest: 1 })
      .skip(excess - 1)
      .limit(1)
      .toArray()
    if (last) await refusedLogins.deleteMany({ latest: { $lte: last.latest } })
  }

  return {
    add: (key, login) =>
      run(async () => {
        if (++additions % trimEvery === 0) await trim()
        // The oldest first: the server keeps the end of the list.
        const push = { logins: { $each: [toJson(login)], $slice: -maxRefusedLogins } }
        const update = { $push: push, $max: { latest: login.at } }
        await upsert(() => refusedLogins.updateOne({ _id: literal(key) }, update, { upsert: true }))
      }),

    list: (key, since) =>
      run(async () => {
        const found = await refusedLogins.findOne({ _id: literal(key) })
        return fromJson(found?.logins.toReversed() ?? [], since)
      }),

    sweep: (before, limit) => sweep('refused_logins', { latest: { $lt: before } }, limit),
  }
}
