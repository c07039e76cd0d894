import type { Arrival, UserSource } from '../../../application/ports/user-source.ts'
import { orClose } from '../../../lib/closing.ts'
import { Unsuitable } from '../../stores/store-backend.ts'
import type { FastapiUsersOptions } from './options.ts'
import { digestOfJson, idOf, recordOf } from './records.ts'
import { type RedisSession, redisSessions } from './redis-sessions.ts'
import { type Pass, passes, type SourceRows } from './source-rows.ts'

/**
 * The users of a fastapi-users 15 application, with their links and stored logins. Nothing is written to its databases. A row
 * that cannot be read is a record with the reason.
 *
 * Throws `Unsuitable` if an address, a table or a column does not fit, and `Unavailable` if a server does not answer.
 */
export async function openFastapiUsers(options: FastapiUsersOptions): Promise<UserSource> {
  const sessions =
    options.sessionsFrom === undefined
      ? new Map<string, readonly RedisSession[]>()
      : await redisSessions(options.sessionsFrom, options.redisKeyPrefix)
  const rows = await rowsOf(options)

  async function* arrivals(after: string | null): AsyncGenerator<Arrival> {
    const [, name, key = null] = /^(\w+):(.*)$/s.exec(after ?? '') ?? []
    const start = passes.indexOf(name as Pass)
    if (name === 'end') return
    for (const [at, pass] of passes.entries()) {
      if (at < start) continue
      let last = at === start ? key : null
      for (;;) {
        const page = await rows.page(pass, last)
        for (const row of page) {
          yield { cursor: `${pass}:${row.key}`, ...recordOf(row, sessions.get(idOf(row)) ?? [], options) }
          last = row.key
        }
        if (page.length === 0) break
      }
    }
    for (const reason of await rows.orphans()) {
      yield { cursor: 'end:', digest: digestOfJson(reason), record: { type: 'unreadable', id: null, reason } }
    }
  }

  return { sealedBy: null, hasHashes: true, arrivals, close: () => rows.close() }
}

/** Each driver is loaded only if it is needed. */
async function rowsOf(options: FastapiUsersOptions): Promise<SourceRows> {
  const { from } = options
  if (/^mongodb(\+srv)?:/i.test(from)) return await (await import('./mongo.ts')).openMongoRows(options)
  const database = /^postgres(ql)?(\+\w+)?:/i.test(from)
    ? await (await import('./postgres.ts')).openPostgres(from)
    : /^sqlite(\+\w+)?:/i.test(from)
      ? await (await import('./sqlite.ts')).openSqlite(from)
      : null
  if (database === null) {
    throw new Unsuitable('--from must be an address that begins with postgresql://, sqlite: or mongodb://')
  }
  const { openSqlRows } = await import('./sql-rows.ts')
  return await orClose(openSqlRows(database, options), () => database.close())
}
