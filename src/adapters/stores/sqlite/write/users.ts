import { type EmailKey, emailKey } from '../../../../domain/email.ts'
import { haveRoom } from '../../../../domain/events.ts'
import type { UserId } from '../../../../domain/ids.ts'
import { passwordScheme } from '../../../../domain/password.ts'
import type { User } from '../../../../domain/user.ts'
import type { InThread, Writes } from '../protocol.ts'
import type { UserRow } from '../rows.ts'
import type { Statements } from '../statements.ts'
import { appendEvents, waitingOf } from './outbox.ts'
import { uniqueAccounts } from './unique-accounts.ts'

const columns = [
  'id',
  'email',
  'email_key',
  'password_hash',
  'password_scheme',
  'password_version',
  'is_active',
  'is_superuser',
  'is_verified',
  'is_owner_proved',
  'generation',
  'kept',
  'ended_until',
  'created_at',
  'version',
  'oauth_accounts',
] as const satisfies readonly (keyof UserRow)[]

const insert = `INSERT INTO users (${columns.join(', ')}) VALUES (${columns.map((name) => `@${name}`).join(', ')})`
const changes = columns.map((name) => (name === 'version' ? 'version = version + 1' : `${name} = @${name}`))
const replace = `UPDATE users SET ${changes.join(', ')} WHERE id = @id`

/**
 * Every batch holds the file's lock from its beginning, so nobody writes between the look at what is taken and the write.
 * The unique keys stand behind that look.
 */
export function userWrites(sql: Statements): InThread<Writes['users']> {
  const accounts = uniqueAccounts(sql)

  /** @param own the user whose address and accounts do not count as taken */
  function conflictOf(user: User, own: UserId | null): 'email_taken' | 'account_taken' | null {
    const owner = sql<[EmailKey], { id: UserId }>('SELECT id FROM users WHERE email_key = ?').get(emailKey(user.email))
    if (owner !== undefined && owner.id !== own) return 'email_taken'
    return accounts.areTaken(user, own) ? 'account_taken' : null
  }

  return {
    insert(now, user, events) {
      const conflict = conflictOf(user, null)
      if (conflict !== null) return conflict
      sql<[UserRow]>(insert).run(toRow(user))
      accounts.put(user)
      appendEvents(sql, user.id, events, now)
      return 'stored'
    },

    replace(now, user, events) {
      const stored = sql<[UserId], { version: number }>('SELECT version FROM users WHERE id = ?').get(user.id)
      if (stored?.version !== user.version) return 'stale'
      if (events.length > 0 && !haveRoom(events, waitingOf(sql, user.id))) return 'full'
      const conflict = conflictOf(user, user.id)
      if (conflict !== null) return conflict
      sql<[UserRow]>(replace).run(toRow(user))
      accounts.replace(user)
      appendEvents(sql, user.id, events, now)
      return 'stored'
    },

    remove(now, user, events) {
      const remove = sql<[UserId, number]>('DELETE FROM users WHERE id = ? AND version = ?')
      if (remove.run(user.id, user.version).changes === 0) return 'stale'
      appendEvents(sql, user.id, events, now)
      return 'removed'
    },
  }
}

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
    is_owner_proved: Number(user.isOwnerProved),
    generation: user.sessions.generation,
    kept: user.sessions.keptCredentialId,
    ended_until: user.endedUntil?.getTime() ?? null,
    created_at: user.createdAt.getTime(),
    version: user.version,
    oauth_accounts: JSON.stringify(user.oauthAccounts),
  }
}
