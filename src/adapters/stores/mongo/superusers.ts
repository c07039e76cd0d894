import { setTimeout as delay } from 'node:timers/promises'
import type { UserId } from '../../../domain/ids.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import { semaphore } from '../../../lib/semaphore.ts'
import { type Connection, latest } from './connection/connection.ts'

/** The longest wait for the other calls of this process, which would compete otherwise. */
const turnMs = 1_500
const attempts = 50
/** A random pause before each repetition, longer each time, so that competing writers do not meet again. */
const pauseMs = 2
const longestPauseMs = 30

const isTheirs = { isActive: true, isSuperuser: true } as const
const idAlone = { projection: { _id: 1 } } as const

/**
 * Keeps one active superuser, without a transaction over two users. The document `superusers` names the keeper, an active
 * superuser. A write that ends the rights of a superuser first counts itself there, and needs another keeper.
 *
 * The appointment of a keeper raises the version of this user, so each demotion of the user that was counted before becomes
 * stale. A demotion that is counted during the appointment makes the appointment fail. So no keeper is ever demoted. A process
 * may die between any two steps, because every step alone is safe.
 */
export function mongoSuperusers({ users, meta, isDuplicate }: Connection) {
  const turns = semaphore(1)

  async function count() {
    const options = { upsert: true, returnDocument: 'after' } as const
    const increment = () => meta.findOneAndUpdate({ _id: 'superusers' }, { $inc: { demotions: 1 } }, options)
    return await increment().catch((error) => {
      if (!isDuplicate(error)) throw error // two processes have inserted it at once
      return increment()
    })
  }

  /** A restored backup or an older release may name a user who is none any more. */
  const isSuperuser = async (_id: UserId): Promise<boolean> =>
    (await users.findOne({ _id, ...isTheirs }, { ...idAlone, ...latest })) !== null

  async function hasAnotherKeeper(id: UserId): Promise<boolean> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await delay(Math.random() * Math.min(longestPauseMs, pauseMs * attempt))
      const { keeper = null, demotions = 0 } = (await count()) ?? {}
      if (keeper !== null && keeper !== id && (await isSuperuser(keeper))) return true
      const next = await users.findOneAndUpdate({ _id: { $ne: id }, ...isTheirs }, { $inc: { version: 1 } }, idAlone)
      if (next === null) return false
      await meta.updateOne({ _id: 'superusers', demotions }, { $set: { keeper: next._id } })
    }
    throw new Unavailable('other processes change superusers all the time')
  }

  return {
    /**
     * Whether another active superuser stays if the rights of this user end. Then the write of the same version, which the
     * caller read before, leaves one.
     */
    async mayLose(id: UserId): Promise<boolean> {
      if (!(await turns.acquire(turnMs))) throw new Unavailable('too many changes of superusers at once')
      try {
        return await hasAnotherKeeper(id)
      } finally {
        turns.release()
      }
    },
  }
}
