import type { UserStore } from '../../../application/ports/stores/user-store.ts'
import { type Email, type EmailKey, emailKey } from '../../../domain/email.ts'
import { type AccountEvent, haveRoom } from '../../../domain/events.ts'
import type { UserId } from '../../../domain/ids.ts'
import { passwordScheme } from '../../../domain/password.ts'
import type { User } from '../../../domain/user.ts'
import type { SqliteFile, ValuesOf } from './file.ts'
import { eventAppender, waitingCounter } from './outbox.ts'
import type { Statements } from './write/statements.ts'
import { oauthAccountsFromText, oauthAccountsToText, oauthClaims } from './write/unique-accounts.ts'

interface UserRow {
  readonly id: UserId
  readonly email: Email
  readonly email_key: EmailKey
  readonly password_hash: string | null
  readonly password_scheme: string | null
  readonly password_version: number
  readonly is_active: number
  readonly is_superuser: number
  readonly is_verified: number
  readonly is_owner_proved: number
  readonly generation: number
  readonly kept: string | null
  readonly ended_until: number | null
  readonly created_at: number
  readonly version: number
  readonly oauth_accounts: string
}

/** What is read back, in the order of `fromRow`. */
const readColumns = [
  'id',
  'email',
  'password_hash',
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
type ReadRow = ValuesOf<UserRow, typeof readColumns>
/** And what nobody reads back: the first follows from the address, the second from the hash. */
const columns = [...readColumns, 'email_key', 'password_scheme'] as const

const readUsers = `SELECT ${readColumns.join(', ')} FROM users`

/**
 * What runs in the writer's thread. Nobody else writes while it judges what is taken: every batch has the file's
 * lock from its beginning. The unique keys stand behind that judgement.
 */
export function userWrites(db: Statements) {
  const ownerOfEmail = db.prepare<[EmailKey], UserId>('SELECT id FROM users WHERE email_key = ?').pluck()
  const versionOf = db.prepare<[UserId], number>('SELECT version FROM users WHERE id = ?').pluck()
  const insert = db.prepare<[UserRow]>(
    `INSERT INTO users (${columns.join(', ')}) VALUES (${columns.map((name) => `@${name}`).join(', ')})`,
  )
  const replace = db.prepare<[UserRow]>(
    `UPDATE users SET ${columns.map((name) => (name === 'version' ? 'version = version + 1' : `${name} = @${name}`)).join(', ')}
     WHERE id = @id`,
  )
  const remove = db.prepare<[string, number]>('DELETE FROM users WHERE id = ? AND version = ?')
  const claims = oauthClaims(db)
  const append = eventAppender(db)
  const waitingOf = waitingCounter(db)

  /** @param own whose address and accounts are not taken */
  function whatIsTaken(user: User, own: UserId | null): 'email_taken' | 'account_taken' | null {
    const owner = ownerOfEmail.get(emailKey(user.email))
    if (owner !== undefined && owner !== own) return 'email_taken'
    return claims.areTaken(user, own) ? 'account_taken' : null
  }

  return {
    insertUser(user: User, events: readonly AccountEvent[], now: number): 'stored' | 'email_taken' | 'account_taken' {
      const taken = whatIsTaken(user, null)
      if (taken !== null) return taken
      insert.run(toRow(user))
      claims.put(user)
      append(user.id, events, now)
      return 'stored'
    },

    replaceUser(
      user: User,
      events: readonly AccountEvent[],
      now: number,
    ): 'stored' | 'stale' | 'full' | 'email_taken' | 'account_taken' {
      if (versionOf.get(user.id) !== user.version) return 'stale'
      if (events.length > 0 && !haveRoom(events, waitingOf(user.id))) return 'full'
      const taken = whatIsTaken(user, user.id)
      if (taken !== null) return taken
      replace.run(toRow(user))
      claims.replace(user)
      append(user.id, events, now)
      return 'stored'
    },

    removeUser(user: User, events: readonly AccountEvent[], now: number): 'removed' | 'stale' {
      if (remove.run(user.id, user.version).changes === 0) return 'stale'
      append(user.id, events, now)
      return 'removed'
    },
  }
}

export function sqliteUsers(file: SqliteFile, clock: () => Date): UserStore {
  const byId = file.tuples<[UserId], ReadRow>(`${readUsers} WHERE id = ?`)
  const byEmail = file.tuples<[EmailKey], ReadRow>(`${readUsers} WHERE email_key = ?`)
  const byAccount = file.tuples<[string, string], ReadRow>(
    `${readUsers} WHERE id =
     (SELECT user_id FROM oauth_claims WHERE provider = ? AND account_id = ?)`,
  )
  // Steps from one value of the index to the next: the cost is that of the schemes, not of the users.
  const schemes = file.query<[], { scheme: string }>(
    `WITH RECURSIVE found (scheme) AS (
       SELECT min(password_scheme) FROM users
       UNION ALL
       SELECT (SELECT min(password_scheme) FROM users WHERE password_scheme > scheme) FROM found WHERE scheme IS NOT NULL
     )
     SELECT scheme FROM found WHERE scheme IS NOT NULL`,
  )

  return {
    async find(id) {
      return fromRow(byId.get(id))
    },

    async findByEmail(key) {
      return fromRow(byEmail.get(key))
    },

    async findByOAuthAccount(provider, accountId) {
      return fromRow(byAccount.get(provider, accountId))
    },

    insert: (user, events) => file.write('insertUser', user, events, clock().getTime()),
    replace: (user, events) => file.write('replaceUser', user, events, clock().getTime()),
    remove: (user, events) => file.write('removeUser', user, events, clock().getTime()),

    async passwordSchemes() {
      return schemes.all().map((row) => row.scheme)
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
    kept: user.sessions.kept,
    ended_until: user.endedUntil?.getTime() ?? null,
    created_at: user.createdAt.getTime(),
    version: user.version,
    oauth_accounts: oauthAccountsToText(user.oauthAccounts),
  }
}

function fromRow(row: ReadRow | undefined): User | null {
  if (row === undefined) return null
  const [
    id,
    email,
    passwordHash,
    passwordVersion,
    isActive,
    isSuperuser,
    isVerified,
    isOwnerProved,
    generation,
    kept,
    endedUntil,
    createdAt,
    version,
    oauthAccounts,
  ] = row
  return {
    id,
    email,
    passwordHash,
    passwordVersion,
    isActive: isActive === 1,
    isSuperuser: isSuperuser === 1,
    isVerified: isVerified === 1,
    isOwnerProved: isOwnerProved === 1,
    sessions: { generation, kept },
    endedUntil: endedUntil === null ? null : new Date(endedUntil),
    oauthAccounts: oauthAccountsFromText(oauthAccounts),
    createdAt: new Date(createdAt),
    version,
  }
}
