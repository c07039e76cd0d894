// The look-ups of a bare application in the PostgreSQL schema of the service: a pool of its size, and named statements.
import pg from 'pg'

const int8 = 20
pg.types.setTypeParser(int8, Number)
const pool = new pg.Pool({ connectionString: process.env.BARE_POSTGRES, max: 20 })

const lookUp = (name, text) => async (value, time) => {
  const { rows } = await pool.query({ name, text, values: time === undefined ? [value] : [value, time] })
  return rows[0]
}

const users = 'portcullis.user_private'
export const userById = lookUp(
  'by-id',
  `SELECT user_id AS id, email, is_active, is_superuser, is_verified, generation FROM ${users} WHERE user_id = $1`,
)
export const userByEmail = lookUp(
  'by-email',
  `SELECT user_id AS id, password_hash, is_active, generation FROM ${users} WHERE email_key = $1`,
)
const session = lookUp(
  'session',
  'SELECT user_id, generation FROM portcullis.sessions WHERE digest = $1 AND expires_at > $2',
)
export const sessionByDigest = (digest) => session(digest, new Date())
