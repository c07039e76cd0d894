import type { EmailKey } from '../../../domain/email.ts'
import type { Factors } from '../../../domain/factors.ts'
import type { UserId } from '../../../domain/ids.ts'
import { unique } from '../../../domain/user-record.ts'
import { lastOf, type Migrations, type SchemaRecord } from '../migrations.ts'
import { behindPrefix } from '../user-search.ts'
import { type Connection, latest } from './connection/connection.ts'
import { type DeliveryDocument, deliveryId, noSink, someTime, uniqueKeyOf } from './documents.ts'

/**
 * The dead letters leave the users. They have no sink, so a retry distributes them to every sink. The waiting events stay,
 * and are distributed when they are due.
 */
async function moveDeadLetters({ users, deliveries, translate, isDuplicate }: Connection): Promise<void> {
  const withLetters = users.find<OldUser>({ 'outbox.dead.diedAt': someTime })
  for (;;) {
    const user = await translate(() => withLetters.next())
    if (user === null) break
    const letters = user.outbox.dead.map((letter, order) => {
      const _id = deliveryId(letter.event.id, noSink)
      return { _id, sink: noSink, userId: user._id, order, ...letter }
    })
    await translate(() => deliveries.insertMany(letters, { ordered: false })).catch((error) => {
      if (!isDuplicate(error)) throw error // moved by a process that died before the next step
    })
    await translate(() => users.updateOne({ _id: user._id }, { $unset: { 'outbox.dead': '' } }))
  }
  await translate(() => users.deleteMany({ uniqueKeys: /^g:/, 'outbox.events.0': { $exists: false } }))
  await translate(() => users.updateMany({ 'outbox.dueAt': someTime }, { $unset: { 'outbox.leaseId': '' } }))
}

/** A write has to end within the time-out of the socket. */
const usersPerWrite = 100

/** The address of each user becomes a field of its own, because the index of a list has no order for a search. */
async function addEmailKeys({ users, translate }: Connection): Promise<void> {
  const lacking = { emailKey: { $exists: false }, uniqueKeys: { $gte: 'e:', $lt: 'e;' } }
  const found = users.find(lacking, { projection: { uniqueKeys: 1 }, batchSize: usersPerWrite })
  for (;;) {
    const next = await translate(() => found.next())
    if (next === null) return
    const some = [next, ...found.readBufferedDocuments(usersPerWrite - 1)]
    const writes = some.map(({ _id, uniqueKeys: [key = ''] }) => {
      // A user with another address since then was written with the field.
      return {
        updateOne: { filter: { _id, uniqueKeys: key }, update: { $set: { emailKey: key.slice(2) as EmailKey } } },
      }
    })
    await translate(() => users.bulkWrite(writes, { ordered: false }))
  }
}

/** Users are found by the ids of their passkeys, in place of the handle. */
async function addPasskeyKeys({ users, translate }: Connection): Promise<void> {
  const withHandle = { uniqueKeys: { $gte: handleKey, $lt: behindPrefix(handleKey) } }
  const found = users.find<OldPasskeys>(withHandle, {
    projection: { uniqueKeys: 1, factors: 1 },
    batchSize: usersPerWrite,
  })
  for (;;) {
    const next = await translate(() => found.next())
    if (next === null) return
    const some = [next, ...found.readBufferedDocuments(usersPerWrite - 1)]
    const writes = some.map(({ _id, uniqueKeys, factors }) => {
      const passkeys = (factors?.passkeys ?? []).map(({ id }) => uniqueKeyOf(unique.passkey(id)))
      const keys = [...uniqueKeys.filter((key) => !key.startsWith(handleKey)), ...passkeys]
      const update = { $set: { uniqueKeys: keys }, $unset: { 'fields.keys.:passkey': '' as const } }
      return { updateOne: { filter: { _id, uniqueKeys }, update } }
    })
    await translate(() => users.bulkWrite(writes, { ordered: false }))
  }
}

const handleKey = 'f::passkey:'

interface OldPasskeys {
  readonly _id: UserId
  readonly uniqueKeys: readonly string[]
  readonly factors: Pick<Factors, 'passkeys'> | null
}

interface OldUser {
  readonly _id: UserId
  readonly outbox: { readonly dead: readonly Pick<DeliveryDocument, 'event' | 'attempts' | 'reason' | 'diedAt'>[] }
}

/** Every migration of a database, in its order. The first one needs no work: MongoDB makes collections at the first write. */
export const migrations: Migrations<Connection> = [
  { version: 1, excludesOlder: true, run: () => undefined },
  // An older release would deliver the events that wait for their distribution.
  { version: 8, excludesOlder: true, run: moveDeadLetters },
  // An older release would let users with a second factor in by their password alone.
  { version: 9, excludesOlder: true, run: () => undefined },
  // An older release would change an address without `emailKey`.
  { version: 10, excludesOlder: true, run: addEmailKeys },
  // An older release would leave the end of a former deactivation in a user whom it deactivates for good.
  { version: 11, excludesOlder: true, run: () => undefined },
  // An older release would look for the handle of a passkey.
  { version: 12, excludesOlder: true, run: addPasskeyKeys },
]

/** The version and the lock, as documents of `meta`. */
export function schemaRecord({ meta, translate, upsert, isDuplicate, now }: Connection): SchemaRecord {
  return {
    async read() {
      const found = await translate(() => meta.findOne({ _id: 'schema' }, latest))
      // Data of the first releases do not name their oldest version: it is their own.
      return found?.version === undefined ? null : { version: found.version, oldest: found.oldest ?? found.version }
    },

    async write(schema) {
      await translate(() => upsert(() => meta.updateOne({ _id: 'schema' }, { $max: schema }, { upsert: true })))
    },

    async lock(holder, milliseconds) {
      const until = new Date(now().getTime() + milliseconds)
      const free = { _id: 'migration', $or: [{ holder }, { until: { $lte: now() } }] }
      try {
        await translate(() => meta.updateOne(free, { $set: { holder, until } }, { upsert: true }))
        return true
      } catch (error) {
        if (isDuplicate(error)) return false // another holder has the lock
        throw error
      }
    },

    async unlock(holder) {
      await translate(() => meta.deleteOne({ _id: 'migration', holder }))
    },
  }
}

export const knownSchema = lastOf(migrations)
