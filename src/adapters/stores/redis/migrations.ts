import { lastOf, type Migrations, type SchemaRecord } from '../migrations.ts'
import type { Ask } from './connection.ts'

/** Every migration of the keys of a prefix, in its order. The first one needs no work. */
export const migrations: Migrations<Ask> = [{ version: 1, excludesOlder: true, run: () => undefined }]

/** `<prefix>schema` and the lock `<prefix>migration`. Keys of the first release have no version, and new ones need none. */
export function schemaRecord(ask: Ask, prefix: string): SchemaRecord {
  const key = `${prefix}schema`
  const lockKey = `${prefix}migration`
  return {
    async read() {
      const text = await ask((redis) => redis.get(key))
      return text === null ? { version: 1, oldest: 1 } : JSON.parse(text)
    },

    async write({ version, oldest }) {
      await ask((redis) => redis.set(key, JSON.stringify({ version, oldest })))
    },

    async lock(holder, milliseconds) {
      const isOurs = await ask((redis) => redis.set(lockKey, holder, 'PX', milliseconds, 'NX'))
      if (isOurs !== null) return true
      if ((await ask((redis) => redis.get(lockKey))) !== holder) return false
      return (await ask((redis) => redis.set(lockKey, holder, 'PX', milliseconds, 'XX'))) !== null
    },

    async unlock(holder) {
      if ((await ask((redis) => redis.get(lockKey))) === holder) await ask((redis) => redis.del(lockKey))
    },
  }
}

export const knownSchema = lastOf(migrations)
