import { emailKey } from '../../../domain/email.ts'
import { hasFactor } from '../../../domain/factors.ts'
import { passwordScheme } from '../../../domain/password.ts'
import type { User } from '../../../domain/user.ts'
import { fieldsJson } from '../field-json.ts'
import { accountsOf, claimsOf } from './claims.ts'
import type { Connection } from './connection/connection.ts'

const columns = `user_id, email, email_key, is_active, is_superuser, is_verified, created_at, password_hash, password_scheme,
  password_version, is_owner_proved, generation, kept_sid, ended_until, oauth_accounts, fields, imported, factors, inactive_until, inactive_reason, version`

const insert = (counted: string): string => `
  WITH given AS (
    SELECT * FROM jsonb_to_recordset($1) AS one (user_id @id, email text, email_key text, is_active boolean,
      is_superuser boolean, is_verified boolean, created_at timestamptz, password_hash text, password_scheme text,
      password_version bigint, is_owner_proved boolean, generation bigint, kept_sid text, ended_until timestamptz,
      oauth_accounts text, fields text, imported text, factors text, inactive_until timestamptz, inactive_reason text, version bigint, accounts text[], names text[], keys text[], shown jsonb)
  ), written AS (
    INSERT INTO @user_private (${columns}) SELECT ${columns} FROM given RETURNING user_id
  ), shared AS (
    SELECT @put_users(array_agg(user_id), array_agg(email), array_agg(email_key), array_agg(is_active), array_agg(is_superuser),
      array_agg(is_verified), array_agg(created_at), array_agg(shown), array_agg(inactive_until)) AS is_done
    FROM written JOIN given USING (user_id)
  ), linked AS (
    INSERT INTO @oauth_claims (account, user_id) SELECT account, user_id FROM given, unnest(accounts) AS own (account)
  ), ${counted}named AS (
    INSERT INTO @field_claims (field, key, user_id)
    SELECT field, key, user_id FROM given, unnest(names, keys) AS own (field, key)
  )
  SELECT count(is_done) FROM shared`
const insertAny = insert('')
const insertNumbered = insert(`counted AS (
    UPDATE @user_numbers SET last = greatest(last, (SELECT max(user_id) FROM given))
  ), `)

/** `UserStore.insertAll` in one statement. */
export function insertAll(
  { ids, one, takenKey }: Connection,
  namingTriggers: <T>(write: () => Promise<T>) => Promise<T>,
) {
  return async (users: readonly User[]): Promise<boolean> => {
    const rows = JSON.stringify(users.map(toRow))
    try {
      await namingTriggers(() => one(ids() === 'integer' ? insertNumbered : insertAny, [rows]))
      return true
    } catch (error) {
      if (takenKey(error) === null) throw error
      return false
    }
  }
}

function toRow(user: User) {
  const [names, keys] = claimsOf(user)
  return {
    user_id: user.id,
    email: user.email,
    email_key: emailKey(user.email),
    is_active: user.isActive,
    is_superuser: user.isSuperuser,
    is_verified: user.isVerified,
    inactive_until: user.inactiveUntil,
    inactive_reason: user.inactiveReason,
    created_at: user.createdAt,
    password_hash: user.passwordHash,
    password_scheme: user.passwordHash === null ? null : passwordScheme(user.passwordHash),
    password_version: user.passwordVersion,
    is_owner_proved: user.isOwnerProved,
    generation: user.sessions.generation,
    kept_sid: user.sessions.keptSid,
    ended_until: user.endedUntil,
    oauth_accounts: JSON.stringify(user.oauthAccounts),
    fields: fieldsJson(user.fields),
    imported: user.imported && JSON.stringify(user.imported),
    factors: hasFactor(user) ? JSON.stringify(user.factors) : null,
    version: user.version,
    accounts: accountsOf(user),
    names,
    keys,
    shown: user.fields.shown,
  }
}
