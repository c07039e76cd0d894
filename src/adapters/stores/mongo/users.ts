import { setTimeout as delay } from 'node:timers/promises'
import {
  type Taken,
  takenAmong,
  type UserStore,
  type WriteOptions,
} from '../../../application/ports/stores/user-store.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import { isActiveSuperuser, type User } from '../../../domain/user.ts'
import { keysOf } from '../../../domain/user-record.ts'
import { type Connection, latest } from './connection/connection.ts'
import {
  appended,
  literal,
  noUserKey,
  personalFields,
  roomFor,
  type UserDocument,
  uniqueKeyOf,
  userOf,
  waiting,
  writtenFields,
} from './documents.ts'
import { mongoSuperusers } from './superusers.ts'
import { takeNumber } from './user-ids.ts'
import { mongoSearch } from './user-search.ts'

/** The number of retries of a write that another process has made impossible meanwhile. */
const repetitions = 7
/** A random pause before each repetition, longer each time, so that competing writers do not meet again. */
const pauseMs = 5

const present = { removed: { $exists: false } } as const
const isNoSuperuser = { $or: [{ isActive: { $ne: true } }, { isSuperuser: { $ne: true } }] }
const withoutOutbox = { projection: { outbox: 0 } } as const

/**
 * Each write of a user writes one document. It sets named fields and never replaces the document: the relay changes
 * `outbox` between our read and our write.
 */
export function mongoUserStore(connection: Connection): UserStore {
  const { users, now, run, page, isDuplicate } = connection
  const { mayLose } = mongoSuperusers(connection)
  const sameVersion = (user: User) => ({ _id: literal(user.id), version: literal(user.version), ...present })

  /**
   * Looks up which key of a refused write is taken, because the error does not reliably name it. If the holder has gone
   * by then, the write is repeated.
   */
  async function unlessTaken<T>(user: User, isHolder: object, write: () => Promise<T>): Promise<T | Taken> {
    const keys = keysOf(user)
    const uniqueKeys = keys.map(uniqueKeyOf)
    for (let repetition = 0; repetition <= repetitions; repetition++) {
      if (repetition > 0) await delay(Math.random() * pauseMs * repetition)
      try {
        return await write()
      } catch (error) {
        if (!isDuplicate(error)) throw error
      }
      const wanted = { uniqueKeys: { $in: uniqueKeys }, ...isHolder }
      const holders = await users.find(wanted, { projection: { uniqueKeys: 1 }, ...latest }).toArray()
      const held = new Set(holders.flatMap((holder) => holder.uniqueKeys))
      const taken = takenAmong(keys.filter((key) => held.has(uniqueKeyOf(key))).map(({ kind }) => kind))
      if (taken !== null) return taken
    }
    throw new Unavailable('other writes take and release an address, an account or a field all the time')
  }

  /**
   * Updates the stored version. One write is enough, except where the rights of an active superuser end.
   *
   * @param room matches an outbox with room, or `null`
   * @param isAllowed whether the user may be an active superuser before the write
   */
  async function updated(
    user: User,
    update: object,
    room: object | null,
    isAllowed: boolean,
    options: WriteOptions = {},
  ): Promise<'updated' | 'stale' | 'last_superuser' | 'full'> {
    const same = sameVersion(user)
    const { matchedCount } = await users.updateOne({ ...same, ...room, ...(isAllowed ? {} : isNoSuperuser) }, update)
    if (matchedCount === 1) return 'updated'
    if (isAllowed && room === null) return 'stale'
    const stored = await users.findOne(same, { projection: { isActive: 1, isSuperuser: 1 }, ...latest })
    if (stored === null) return 'stale'
    if (isAllowed || !isActiveSuperuser(stored)) return 'full'
    const isLast = !(await mayLose(user.id))
    if (isLast && !options.mayLeaveNoSuperuser) return 'last_superuser'
    return updated(user, update, room, true)
  }

  const one = (filter: object): Promise<User | null> =>
    run(async () => {
      const document = await users.findOne(filter, withoutOutbox)
      return document && userOf(document)
    })

  return {
    find: async (id) => one({ _id: literal(id), ...present }),
    findBy: (key) => one({ uniqueKeys: uniqueKeyOf(key) }),

    insert: (user, events) =>
      run(() =>
        unlessTaken(user, {}, async () => {
          const outbox = events.length === 0 ? {} : { outbox: { events: waiting(events), dueAt: now() } }
          const { id, version } = user
          await takeNumber(connection, id)
          await users.insertOne({
            _id: id,
            version,
            uniqueKeys: keysOf(user).map(uniqueKeyOf),
            ...writtenFields(user),
            ...outbox,
          })
          return 'stored' as const
        }),
      ),

    replace: (user, events, options) =>
      run(() =>
        unlessTaken(user, { _id: { $ne: literal(user.id) } }, async () => {
          const update = {
            $set: { ...writtenFields(user), uniqueKeys: keysOf(user).map(uniqueKeyOf), version: user.version + 1 },
            ...appended(events, now()),
          }
          const outcome = await updated(user, update, roomFor(events), isActiveSuperuser(user), options)
          return outcome === 'updated' ? 'stored' : outcome
        }),
      ),

    /** Until its events are distributed, the record stays as a tombstone. It releases address and accounts at once. */
    remove: (user, events, options) =>
      run(async () => {
        const tombstone = {
          $set: { uniqueKeys: [noUserKey(user.id)], removed: true as const },
          $unset: personalFields(user),
          ...appended(events, now()),
        }
        const outcome = await updated(user, tombstone, null, false, options)
        if (outcome === 'updated') return 'removed'
        return outcome === 'last_superuser' ? outcome : 'stale'
      }),

    async list(limit, after) {
      const { items, next } = await page<UserDocument>('users', { filter: present, limit, after })
      return { items: items.map(userOf), next }
    },

    ...mongoSearch(connection),

    passwordSchemes: () =>
      run(async () => {
        const schemes = await users.distinct('passwordScheme')
        return schemes.filter((scheme) => scheme !== null)
      }),
  }
}
