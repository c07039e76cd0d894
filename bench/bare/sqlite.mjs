// The look-ups of a bare application in the SQLite file of the service.
import Database from 'better-sqlite3'

const db = new Database(process.env.BARE_FILE, { readonly: true })
const byId = db.prepare(`
  SELECT id, document ->> 'email' AS email, is_active, is_superuser, is_verified, document ->> '$.sessions.generation' AS generation
  FROM users WHERE id = ?`)
const byEmail = db.prepare(`
  SELECT id, document ->> 'passwordHash' AS password_hash, is_active, document ->> '$.sessions.generation' AS generation
  FROM users JOIN user_keys ON user_row = row_id WHERE kind = 'email' AND key = ?`)
const session = db.prepare('SELECT user_id, generation FROM sessions WHERE digest = ? AND expires_at > ?')

export const userById = (id) => byId.get(id)
export const userByEmail = (email) => byEmail.get(email)
export const sessionByDigest = (digest) => session.get(digest, Date.now())
