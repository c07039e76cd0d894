import { lastOf, type Migrations, type SchemaRecord } from '../migrations.ts'
import { type Connection, latest } from './connection/connection.ts'

/** Every migration of a database, in its order. The first one needs no work: MongoDB makes collections at the first write. */
export const migrations: Migrations<Connection> = [{ version: 1, excludesOlder: true, run: () => undefined }]

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
