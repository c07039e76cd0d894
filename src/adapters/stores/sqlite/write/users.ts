import { type Taken, takenAmong } from '../../../../application/ports/stores/user-store.ts'
import type { AccountEvent } from '../../../../domain/events.ts'
import type { UserId } from '../../../../domain/ids.ts'
import { isActiveSuperuser, type User } from '../../../../domain/user.ts'
import { documentOf, type Facts, factNames, factsOf, keysOf } from '../../../../domain/user-record.ts'
import type { InThread, Writes } from '../protocol.ts'
import { columnOf, rowIdOf, type UserRow } from '../rows.ts'
import { insertInto, type Statements } from '../statements.ts'
import { appendEvents, hasRoom } from './outbox.ts'
import { takeNumber } from './user-ids.ts'

/**
 * Every batch holds the file's lock from its beginning, so no other process writes between the checks of a write and the
 * write.
 */
export function userWrites(sql: Statements): InThread<Writes['users']> {
  function putKeys(user: User): void {
    const put = 'INSERT INTO user_keys (kind, key, user_row) SELECT ?, ?, row_id FROM users WHERE id = ?'
    for (const { kind, key } of keysOf(user)) sql<[string, string, UserId]>(put).run(kind, key, user.id)
  }

  /** @param own the user whose own keys do not count as taken */
  function conflictOf(user: User, own: UserId | null): Taken | null {
    const ownerOf = sql<[string, string], { id: UserId }>(
      'SELECT id FROM user_keys JOIN users ON row_id = user_row WHERE kind = ? AND key = ?',
    )
    const taken = keysOf(user).filter(({ kind, key }) => (ownerOf.get(kind, key)?.id ?? own) !== own)
    return takenAmong(taken.map(({ kind }) => kind))
  }

  /** `null`: SQLite chooses another rowid. */
  function freeRowId(id: UserId): bigint | null {
    const rowId = rowIdOf(id)
    return sql<[bigint]>('SELECT 1 FROM users WHERE row_id = ?').get(rowId) === undefined ? rowId : null
  }

  const storedVersion = (id: UserId): number | undefined =>
    sql<[UserId], { version: number }>('SELECT version FROM users WHERE id = ?').get(id)?.version

  function isLastSuperuser(id: UserId): boolean {
    const some = 'SELECT id FROM users WHERE is_active = 1 AND is_superuser = 1'
    const isOne = sql<[UserId]>(`${some} AND id = ?`).get(id) !== undefined
    return isOne && sql<[UserId]>(`${some} AND id <> ? LIMIT 1`).get(id) === undefined
  }

  function insert(now: number, user: User, events: readonly AccountEvent[]): 'stored' | Taken {
    const conflict = conflictOf(user, null)
    if (conflict !== null) return conflict
    takeNumber(sql, user.id)
    const row = { row_id: freeRowId(user.id), ...toRow(user) }
    sql<[UserRow]>(insertInto('users', row)).run(row)
    putKeys(user)
    appendEvents(sql, user.id, events, now)
    return 'stored'
  }

  return {
    insert,

    insertAll(now, users) {
      for (const [at, user] of users.entries()) {
        if (storedVersion(user.id) === undefined && insert(now, user, []) === 'stored') continue
        for (const { id } of users.slice(0, at)) sql<[UserId]>('DELETE FROM users WHERE id = ?').run(id)
        return false
      }
      return true
    },

    replace(now, user, events, { mayLeaveNoSuperuser = false } = {}) {
      if (storedVersion(user.id) !== user.version) return 'stale'
      if (!mayLeaveNoSuperuser && !isActiveSuperuser(user) && isLastSuperuser(user.id)) return 'last_superuser'
      if (!hasRoom(sql, user.id, events)) return 'full'
      const conflict = conflictOf(user, user.id)
      if (conflict !== null) return conflict
      const row = toRow({ ...user, version: user.version + 1 })
      const changes = Object.keys(row).map((name) => `${name} = @${name}`)
      sql<[UserRow]>(`UPDATE users SET ${changes.join(', ')} WHERE id = @id`).run(row)
      sql<[UserId]>('DELETE FROM user_keys WHERE user_row = (SELECT row_id FROM users WHERE id = ?)').run(user.id)
      putKeys(user)
      appendEvents(sql, user.id, events, now)
      return 'stored'
    },

    remove(now, user, events, { mayLeaveNoSuperuser = false } = {}) {
      if (storedVersion(user.id) !== user.version) return 'stale'
      if (!mayLeaveNoSuperuser && isLastSuperuser(user.id)) return 'last_superuser'
      sql<[UserId]>('DELETE FROM users WHERE id = ?').run(user.id)
      appendEvents(sql, user.id, events, now)
      return 'removed'
    },
  }
}

const cellOf = (fact: Facts[keyof Facts]): string | number | null =>
  fact === null || typeof fact === 'string' ? fact : Number(fact)

function toRow(user: User): UserRow {
  const { id, version } = user
  const facts = factsOf(user)
  const columns = factNames.map((name) => [columnOf(name), cellOf(facts[name])] as const)
  return { id, version, document: JSON.stringify(documentOf(user)), ...Object.fromEntries(columns) }
}
