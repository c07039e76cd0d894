import { type Taken, takenAmong } from '../../../../application/ports/stores/user-store.ts'
import { type EmailKey, emailKey } from '../../../../domain/email.ts'
import type { AccountEvent } from '../../../../domain/events.ts'
import { hasFactor } from '../../../../domain/factors.ts'
import type { UserId } from '../../../../domain/ids.ts'
import { passwordScheme } from '../../../../domain/password.ts'
import { isActiveSuperuser, type User } from '../../../../domain/user.ts'
import { keysOf } from '../../../../domain/user-record.ts'
import { fieldsJson } from '../../field-json.ts'
import type { InThread, Writes } from '../protocol.ts'
import { claimName, rowIdOf, type UserRow } from '../rows.ts'
import { insertInto, type Statements } from '../statements.ts'
import { appendEvents, hasRoom } from './outbox.ts'
import { takeNumber } from './user-ids.ts'

/**
 * Every batch holds the file's lock from its beginning, so no other process writes between the checks of a write and the
 * write.
 */
export function userWrites(sql: Statements): InThread<Writes['users']> {
  function putAccounts(user: User): void {
    const put = 'INSERT INTO oauth_claims (provider, account_id, user_id) VALUES (?, ?, ?)'
    for (const { provider, accountId } of user.oauthAccounts) {
      sql<[string, string, UserId]>(put).run(provider, accountId, user.id)
    }
  }

  function putKeys(user: User): void {
    const put = 'INSERT INTO field_claims (field, key, user_id) VALUES (?, ?, ?)'
    for (const { kind, key } of claimsOf(user)) sql<[string, string, UserId]>(put).run(claimName(kind), key, user.id)
  }

  /** @param own the user whose address, accounts and keys do not count as taken */
  function conflictOf(user: User, own: UserId | null): Taken | null {
    const owner = sql<[EmailKey], { id: UserId }>('SELECT id FROM users WHERE email_key = ?').get(emailKey(user.email))
    if (owner !== undefined && owner.id !== own) return 'email_taken'
    const ownerOf = 'SELECT user_id AS id FROM oauth_claims WHERE provider = ? AND account_id = ?'
    const isTaken = user.oauthAccounts.some(({ provider, accountId }) => {
      const other = sql<[string, string], { id: UserId }>(ownerOf).get(provider, accountId)
      return other !== undefined && other.id !== own
    })
    if (isTaken) return 'account_taken'
    const holderOf = 'SELECT user_id AS id FROM field_claims WHERE field = ? AND key = ?'
    const held = claimsOf(user).filter(({ kind, key }) => {
      const other = sql<[string, string], { id: UserId }>(holderOf).get(claimName(kind), key)
      return other !== undefined && other.id !== own
    })
    return takenAmong(held.map(({ kind }) => kind))
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
    putAccounts(user)
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
      sql<[UserId]>('DELETE FROM oauth_claims WHERE user_id = ?').run(user.id)
      putAccounts(user)
      sql<[UserId]>('DELETE FROM field_claims WHERE user_id = ?').run(user.id)
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

/** The keys in `field_claims`. */
const claimsOf = (user: User) => keysOf(user).filter(({ kind }) => kind !== 'email' && kind !== 'account')

function toRow(user: User): UserRow {
  return {
    id: user.id,
    email: user.email,
    email_key: emailKey(user.email),
    password_hash: user.passwordHash,
    password_scheme: user.passwordHash === null ? null : passwordScheme(user.passwordHash),
    password_version: user.passwordVersion,
    is_active: Number(user.isActive),
    is_superuser: Number(user.isSuperuser),
    is_verified: Number(user.isVerified),
    inactive_until: user.inactiveUntil?.getTime() ?? null,
    inactive_reason: user.inactiveReason,
    is_owner_proved: Number(user.isOwnerProved),
    generation: user.sessions.generation,
    kept: user.sessions.keptSid,
    ended_until: user.endedUntil?.getTime() ?? null,
    created_at: user.createdAt.getTime(),
    version: user.version,
    oauth_accounts: JSON.stringify(user.oauthAccounts),
    fields: fieldsJson(user.fields),
    imported: user.imported && JSON.stringify(user.imported),
    factors: hasFactor(user) ? JSON.stringify(user.factors) : null,
  }
}
