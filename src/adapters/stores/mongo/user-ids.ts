import type { UserIds } from '../../../application/ports/stores/user-ids.ts'
import { kindOf, type UserId } from '../../../domain/ids.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import { type Connection, latest } from './connection/connection.ts'
import { literal } from './documents.ts'

const ofCounter = { _id: 'last-user-id' } as const

/** So that no later user gets this number. */
export async function takeNumber({ meta, upsert }: Pick<Connection, 'meta' | 'upsert'>, id: UserId): Promise<void> {
  if (kindOf(id) === 'integer') await skip({ meta, upsert }, Number(id))
}

async function skip({ meta, upsert }: Pick<Connection, 'meta' | 'upsert'>, last: number): Promise<void> {
  await upsert(() => meta.updateOne(ofCounter, { $max: { last } }, { upsert: true }))
}

export function mongoUserIds({ meta, users, run, isDuplicate, upsert }: Connection): UserIds {
  const counted = () =>
    meta.findOneAndUpdate(ofCounter, { $inc: { last: 1 } }, { upsert: true, returnDocument: 'after' })

  const kept = async () => (await meta.findOne({ _id: 'ids' }, latest))?.kind ?? null

  return {
    kept: () => run(kept),

    keep: (kind) =>
      run(async () => {
        const known = await kept()
        if (known !== null) return known
        const user = await users.findOne({ removed: { $exists: false } }, { projection: { _id: 1 } })
        try {
          const first = user === null ? kind : kindOf(user._id)
          await meta.insertOne({ _id: 'ids', kind: first })
          return first
        } catch (error) {
          if (!isDuplicate(error)) throw error
        }
        const other = await kept()
        if (other === null) throw new Unavailable('the kind of ids was removed while it was read')
        return other
      }),

    skip: (last) => run(() => skip({ meta, upsert }, literal(last))),

    next: () =>
      run(async () => {
        const number = await counted().catch((error) => {
          if (!isDuplicate(error)) throw error // two processes have inserted it at once
          return counted()
        })
        if (number?.last === undefined) throw new Unavailable('MongoDB gave no number')
        return number.last
      }),
  }
}
