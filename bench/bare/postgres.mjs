// The look-ups of a bare application in the PostgreSQL schema of the service: a pool of its size, and named statements.
import pg from 'pg'

const int8 = 20
pg.types.setTypeParser(int8, Number)
const pool = new pg.Pool({ connectionString: process.env.BARE_POSTGRES, max: 20 })

const query = (name, text, values) => pool.query({ name, text, values })
const lookUp =
  (name, text) =>
  async (...values) =>
    (await query(name, text, values)).rows[0]

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

const add = `
  INSERT INTO portcullis.limits AS known (key, points, expire, created_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (key) DO UPDATE SET points = excluded.points + CASE WHEN known.expire > $4 THEN known.points ELSE 0 END,
    expire = CASE WHEN known.expire > $4 THEN known.expire ELSE excluded.expire END
  RETURNING points`
const addTo = async (email, points) => {
  const now = new Date()
  const { rows } = await query('add', add, [`bare:${email}`, points, new Date(now.getTime() + 900_000), now])
  return rows[0].points
}
export async function countAttempt(email) {
  if ((await addTo(email, 1)) > 100) throw new Error('too many attempts')
}
export async function recordLogin(id, email) {
  if ((await addTo(email, -1)) <= 0) {
    await query('drop', 'DELETE FROM portcullis.limits WHERE key = $1 AND points <= 0', [`bare:${email}`])
  }
  const record = 'UPDATE portcullis.user_private SET last_login_at = greatest(last_login_at, $2) WHERE user_id = $1'
  await query('record', record, [id, new Date()])
}
