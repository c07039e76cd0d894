import type { Taken, UserStore } from '../../../application/ports/stores/user-store.ts'
import type { Email } from '../../../domain/email.ts'
import { emailKey } from '../../../domain/email.ts'
import type { AccountEvent } from '../../../domain/events.ts'
import { hasFactor, noFactors } from '../../../domain/factors.ts'
import { kindOf, type UserId } from '../../../domain/ids.ts'
import { passwordScheme } from '../../../domain/password.ts'
import { isActiveSuperuser, type User } from '../../../domain/user.ts'
import { parseAccounts } from '../account-json.ts'
import { fieldsJson, parseFields } from '../field-json.ts'
import { accountsOf, claimName, claimsOf } from './claims.ts'
import type { Connection, Queries, Steps } from './connection/connection.ts'
import { insertAll } from './insert-all.ts'
import { dateOf, epoch, jsonRow } from './json-row.ts'
import { unlessLost } from './lost-answers.ts'
import { othersObjects } from './others-objects.ts'
import { postgresSearch } from './user-search.ts'
import { appended, eventValues, roomValues, waitingOf } from './waiting-events.ts'

interface UserRow {
  readonly found: readonly [
    id: UserId,
    email: Email,
    isActive: boolean,
    isSuperuser: boolean,
    isVerified: boolean,
    createdAt: number,
    passwordHash: string | null,
    passwordVersion: number,
    isOwnerProved: boolean,
    generation: number,
    keptSid: string | null,
    endedUntil: number | null,
    oauthAccounts: string,
    fields: string | null,
    imported: string | null,
    factors: string | null,
    inactiveUntil: number | null,
    inactiveReason: string | null,
    version: number,
  ]
}

const user = jsonRow([
  'user_id::text',
  'email',
  'is_active',
  'is_superuser',
  'is_verified',
  epoch('created_at'),
  'password_hash',
  'password_version',
  'is_owner_proved',
  'generation',
  'kept_sid',
  epoch('ended_until'),
  'oauth_accounts',
  'fields',
  'imported',
  'factors',
  epoch('inactive_until'),
  'inactive_reason',
  'version',
])
const users = `SELECT ${user} FROM @user_private`
const byId = `${users} WHERE user_id = $1`
const byEmail = `${users} WHERE email_key = $1`
const byAccount = `${users} WHERE user_id = (SELECT user_id FROM @oauth_claims WHERE account = $1)`
const byClaim = `${users} WHERE user_id = (SELECT user_id FROM @field_claims WHERE field = $1 AND key = $2)`
const behind = `${users} WHERE $1::@id IS NULL OR user_id > $1 ORDER BY user_id LIMIT $2`

// Steps from one value of the index to the next, so the cost depends on the number of schemes, not of users.
const schemes = `
  WITH RECURSIVE found (scheme) AS (
    SELECT min(password_scheme) FROM @user_private
    UNION ALL
    SELECT (SELECT min(password_scheme) FROM @user_private WHERE password_scheme > scheme) FROM found
    WHERE scheme IS NOT NULL
  )
  SELECT scheme FROM found WHERE scheme IS NOT NULL`

const isNoSuperuser = '(NOT EXISTS (SELECT 1 FROM @user_private WHERE user_id = $1 AND is_active AND is_superuser))'

interface Written {
  readonly written: number
  /** Whether the version was the stored one before the statement. */
  readonly is_same: boolean
  /** Whether the write ends no rights of a superuser, or may do so. */
  readonly is_allowed: boolean
  readonly is_full: boolean
}

// The accounts are in the order of their keys, so that two writes of the same accounts do not wait for each other.
const insert = (counted: string): string => `
  WITH written AS (
    INSERT INTO @user_private (user_id, email, email_key, is_active, is_superuser, is_verified, password_hash,
      password_scheme, password_version, is_owner_proved, generation, kept_sid, ended_until, oauth_accounts, version, created_at,
      fields, imported, factors, inactive_until, inactive_reason)
    VALUES ($1::@id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $20, $21, $25, $26, $27, $28) RETURNING user_id AS id
  ), shared AS (
    SELECT @put_users(ARRAY[id], ARRAY[$2], ARRAY[$3], ARRAY[$4], ARRAY[$5], ARRAY[$6], ARRAY[$20], ARRAY[$22::jsonb],
      ARRAY[$27::timestamptz]) AS is_done
    FROM written
  ), linked AS (
    INSERT INTO @oauth_claims (account, user_id)
    SELECT wanted.account, id FROM written, unnest($16::text[]) AS wanted (account)
  ), named AS (
    INSERT INTO @field_claims (field, key, user_id)
    SELECT wanted.field, wanted.key, id FROM written, unnest($23::text[], $24::text[]) AS wanted (field, key)
  ), ${counted}${appended('written', 17)}
  SELECT count(is_done) FROM shared`
const insertAny = insert('')
// So that no later user gets this number. Most numbers come from the counter, and then the row is not locked.
const insertNumbered = insert('counted AS (UPDATE @user_numbers SET last = $1 WHERE last < $1), ')

// The row of user_private is locked first, and then the others. The row of users changes only if one of its columns does.
const replace = `
  WITH written AS (
    UPDATE @user_private SET email = $2, email_key = $3, is_active = $4, is_superuser = $5, is_verified = $6, created_at = $22,
      password_hash = $7, password_scheme = $8, password_version = $9, is_owner_proved = $10,
      generation = $11, kept_sid = $12, ended_until = $13, oauth_accounts = $14, version = $15 + 1, fields = $24,
      imported = $28, factors = $29, inactive_until = $30, inactive_reason = $31
    WHERE user_id = $1::@id AND version = $15 AND ($20::boolean OR ${waitingOf('$1::@id')} <= $21)
      AND ($23::boolean OR ${isNoSuperuser})
    RETURNING user_id AS id
  ), shared AS (
    SELECT @put_users(ARRAY[id], ARRAY[$2], ARRAY[$3], ARRAY[$4], ARRAY[$5], ARRAY[$6], ARRAY[$22], ARRAY[$25::jsonb],
      ARRAY[$30::timestamptz]) AS is_done
    FROM written JOIN @user_private AS before ON user_id = id
    WHERE (before.email, before.is_active, before.is_superuser, before.is_verified, before.created_at, before.fields,
      before.inactive_until) IS DISTINCT FROM ($2, $4, $5, $6, $22, $24, $30)
  ), unlinked AS (
    DELETE FROM @oauth_claims USING written WHERE user_id = id AND NOT account = ANY($16::text[])
  ), linked AS (
    INSERT INTO @oauth_claims (account, user_id)
    SELECT wanted.account, id FROM written, unnest($16::text[]) AS wanted (account)
    WHERE NOT EXISTS (SELECT 1 FROM @oauth_claims AS own WHERE own.account = wanted.account AND own.user_id = id)
  ), unnamed AS (
    DELETE FROM @field_claims AS own USING written WHERE own.user_id = id
      AND NOT EXISTS (SELECT 1 FROM unnest($26::text[], $27::text[]) AS wanted (field, key)
        WHERE wanted.field = own.field AND wanted.key = own.key)
  ), named AS (
    INSERT INTO @field_claims (field, key, user_id)
    SELECT wanted.field, wanted.key, id FROM written, unnest($26::text[], $27::text[]) AS wanted (field, key)
    WHERE NOT EXISTS (SELECT 1 FROM @field_claims AS own
      WHERE own.field = wanted.field AND own.key = wanted.key AND own.user_id = id)
  ), ${appended('written', 17)}
  SELECT (SELECT count(*) FROM written) AS written, (SELECT count(is_done) FROM shared) AS shared,
    EXISTS (SELECT 1 FROM @user_private WHERE user_id = $1 AND version = $15) AS is_same,
    $23 OR ${isNoSuperuser} AS is_allowed, NOT $20 AND ${waitingOf('$1::@id')} > $21 AS is_full`

const remove = `
  WITH removed AS (
    DELETE FROM @user_private WHERE user_id = $1::@id AND version = $2 AND ($6::boolean OR ${isNoSuperuser})
    RETURNING user_id AS id
  ), shared AS (
    SELECT @remove_user(id) AS is_done FROM removed
  ), ${appended('removed', 3)}
  SELECT (SELECT count(*) FROM removed) AS written, (SELECT count(is_done) FROM shared) AS shared,
    EXISTS (SELECT 1 FROM @user_private WHERE user_id = $1 AND version = $2) AS is_same,
    $6 OR ${isNoSuperuser} AS is_allowed, false AS is_full`

// A transaction that ends the rights of a superuser holds this row, so that no two superusers end the rights of each other.
const holdSuperusers = `
  INSERT INTO @meta AS known (name, value) VALUES ('superusers', '')
  ON CONFLICT (name) DO UPDATE SET value = known.value`
const otherSuperuser = 'SELECT 1 FROM @user_private WHERE is_superuser AND is_active AND user_id <> $1 LIMIT 1'

// A passkey comes after every field.
const heldField = `
  SELECT 1 FROM @field_claims AS own JOIN unnest($1::text[], $2::text[]) AS wanted (field, key)
    ON wanted.field = own.field AND wanted.key = own.key
  WHERE user_id <> $3 AND own.field <> ':passkey'`

/** @param warn gets the foreign key that refuses a removal */
export function postgresUsers(connection: Connection, warn: (message: string) => void): UserStore {
  const { all, one, operation, takenKey, now } = connection
  const { namingTriggers, referenceOf } = othersObjects(connection)

  const found = async (text: string, ...keys: string[]): Promise<User | null> => {
    const row = await one<UserRow>(text, keys)
    return row === undefined ? null : fromRow(row)
  }

  /** The error names one of the keys that are taken. Those before it in the order of `Taken` may be taken, too. */
  async function unlessTaken<T>(
    user: User,
    events: readonly AccountEvent[],
    write: (steps: Steps) => Promise<T>,
  ): Promise<T | 'stored' | Taken> {
    const { id } = user
    const steps = operation()
    try {
      return await unlessLost(steps, { id, events, done: 'stored' as const }, () => namingTriggers(() => write(steps)))
    } catch (error) {
      const key = takenKey(error)
      if (key === 'user_private_email_key') return 'email_taken'
      if (key !== 'oauth_claims_account' && key !== 'field_claims_key') throw error
      const other = await steps.one('SELECT 1 FROM @user_private WHERE email_key = $1 AND user_id <> $2', [
        emailKey(user.email),
        id,
      ])
      if (other !== undefined) return 'email_taken'
      if (key === 'oauth_claims_account') return 'account_taken'
      const linked = await steps.one('SELECT 1 FROM @oauth_claims WHERE account = ANY($1::text[]) AND user_id <> $2', [
        accountsOf(user),
        user.id,
      ])
      if (linked !== undefined) return 'account_taken'
      const [names, keys] = claimsOf(user)
      const held = await steps.one(heldField, [names, keys, id])
      return held === undefined ? 'passkey_taken' : 'field_taken'
    }
  }

  /**
   * Writes in one statement, except where the rights of a superuser end: then in a transaction, if another one stays.
   *
   * @param write gets whether the user may be an active superuser before the write
   */
  async function keepingOne(
    { one, transaction }: Steps,
    id: UserId,
    isAllowed: boolean,
    write: (one: Queries['one'], isAllowed: boolean) => Promise<Written | undefined>,
  ): Promise<Written | 'last_superuser'> {
    const written = (await write(one, isAllowed)) ?? nothing
    if (written.written === 1 || !written.is_same || written.is_allowed) return written
    return await transaction(async ({ one, change }) => {
      await change(holdSuperusers)
      const isAnother = (await one(otherSuperuser, [id])) !== undefined
      const written = (await write(one, isAnother)) ?? nothing
      return written.written === 1 || !written.is_same || written.is_allowed ? written : 'last_superuser'
    })
  }

  return {
    // The server refuses to compare an id of another kind, which a session of a former store may have.
    find: async (id) => (kindOf(id) === connection.ids() ? await found(byId, id) : null),
    async findBy({ kind, key }) {
      if (kind === 'email') return await found(byEmail, key)
      return await (kind === 'account' ? found(byAccount, key) : found(byClaim, claimName(kind), key))
    },

    insert: (user, events) =>
      unlessTaken(user, events, async ({ one }) => {
        const insert = connection.ids() === 'integer' ? insertNumbered : insertAny
        await one(insert, [...valuesOf(user), ...eventValues(events, now()), user.createdAt, ...fieldValues(user)])
        return 'stored' as const
      }),

    insertAll: insertAll(connection, namingTriggers),

    replace: (user, events, { mayLeaveNoSuperuser = false } = {}) =>
      unlessTaken(user, events, async (steps) => {
        const values = [...valuesOf(user), ...eventValues(events, now()), ...roomValues(events), user.createdAt]
        const written = await keepingOne(
          steps,
          user.id,
          mayLeaveNoSuperuser || isActiveSuperuser(user),
          (one, isAllowed) => one<Written>(replace, [...values, isAllowed, ...fieldValues(user)]),
        )
        if (typeof written === 'string') return written
        if (written.written === 1) return 'stored' as const
        return written.is_same && written.is_full ? ('full' as const) : ('stale' as const)
      }),

    async remove(user, events, { mayLeaveNoSuperuser = false } = {}) {
      const values = [user.id, user.version, ...eventValues(events, now())]
      const steps = operation()
      const written = await unlessLost(steps, { id: user.id, events, done: 'removed' as const }, () =>
        namingTriggers(async () => {
          try {
            return await keepingOne(steps, user.id, mayLeaveNoSuperuser, (one, isAllowed) =>
              one<Written>(remove, [...values, isAllowed]),
            )
          } catch (error) {
            const reference = referenceOf(error)
            if (reference === null) throw error
            warn(`${reference} refused to delete a user`)
            return 'referenced' as const
          }
        }),
      )
      if (typeof written === 'string') return written
      return written.written === 1 ? 'removed' : 'stale'
    },

    async list(limit, after) {
      const rows = await all<UserRow>(behind, [after, limit])
      const items = rows.map(fromRow)
      return { items, next: items.length === limit ? (items.at(-1)?.id ?? null) : null }
    },

    ...postgresSearch(connection, user, fromRow),

    async passwordSchemes() {
      return (await all<{ scheme: string }>(schemes)).map(({ scheme }) => scheme)
    },
  }
}

const nothing: Written = { written: 0, is_same: false, is_allowed: true, is_full: false }

/** `$1` to `$16` of a written user. */
function valuesOf(user: User): readonly unknown[] {
  return [
    user.id,
    user.email,
    emailKey(user.email),
    user.isActive,
    user.isSuperuser,
    user.isVerified,
    user.passwordHash,
    user.passwordHash === null ? null : passwordScheme(user.passwordHash),
    user.passwordVersion,
    user.isOwnerProved,
    user.sessions.generation,
    user.sessions.keptSid,
    user.endedUntil,
    JSON.stringify(user.oauthAccounts),
    user.version,
    accountsOf(user).sort(),
  ]
}

/**
 * The fields of a written user: all of them, those of the table `users`, and the keys of unique ones in their order. Then the
 * import, the second factors, and the end and reason of a deactivation.
 */
function fieldValues(user: User): readonly unknown[] {
  const { fields, imported, factors, inactiveUntil, inactiveReason } = user
  return [
    fieldsJson(fields),
    JSON.stringify(fields.shown),
    ...claimsOf(user),
    imported && JSON.stringify(imported),
    hasFactor({ factors }) ? JSON.stringify(factors) : null,
    inactiveUntil,
    inactiveReason,
  ]
}

function fromRow({ found }: UserRow): User {
  const [id, email, isActive, isSuperuser, isVerified, createdAt, passwordHash, passwordVersion, ...others] = found
  const [isOwnerProved, generation, keptSid, endedUntil, oauthAccounts, fields, imported, factors, ...last] = others
  const [inactiveUntil, inactiveReason, version] = last
  return {
    id,
    email,
    passwordHash,
    passwordVersion,
    isActive,
    isSuperuser,
    isVerified,
    inactiveUntil: inactiveUntil === null ? null : dateOf(inactiveUntil),
    inactiveReason,
    isOwnerProved,
    sessions: { generation, keptSid },
    endedUntil: endedUntil === null ? null : dateOf(endedUntil),
    oauthAccounts: parseAccounts(oauthAccounts),
    factors: factors === null ? noFactors : JSON.parse(factors), // safe: a store writes it
    fields: parseFields(fields),
    imported: imported === null ? null : JSON.parse(imported), // safe: a store writes it
    createdAt: dateOf(createdAt),
    version,
  }
}
