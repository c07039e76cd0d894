// The bare application for GET /users/me, as an experienced developer writes it by hand: Koa, @koa/router, and the look-ups
// of the service, in the same SQLite file and the same Redis. It is plain JavaScript, so that no loader slows it down.
import { createSecretKey, hash } from 'node:crypto'
import Router from '@koa/router'
import Database from 'better-sqlite3'
import { Redis } from 'ioredis'
import jsonwebtoken from 'jsonwebtoken'
import Koa from 'koa'

const { BARE_KIND, BARE_FILE, BARE_REDIS, BARE_JWT_KEY } = process.env

const db = new Database(BARE_FILE, { readonly: true })
const userById = db.prepare(
  'SELECT id, email, is_active, is_superuser, is_verified, generation FROM users WHERE id = ?',
)

const credentials = {
  jwt() {
    const key = createSecretKey(Buffer.from(BARE_JWT_KEY, 'base64'))
    const options = { algorithms: ['HS256'], audience: 'portcullis:auth' }
    return (ctx) => {
      const { sub, gen } = jsonwebtoken.verify(ctx.get('Authorization').slice('Bearer '.length), key, options)
      return { userId: sub, generation: gen }
    }
  },

  'cookie-sqlite'() {
    const session = db.prepare('SELECT user_id, generation FROM sessions WHERE digest = ? AND expires_at > ?')
    return (ctx) => {
      const row = session.get(digestOf(ctx), Date.now())
      return row && { userId: row.user_id, generation: row.generation }
    }
  },

  'cookie-redis'() {
    const redis = new Redis(BARE_REDIS)
    return async (ctx) => {
      const text = await redis.get(`portcullis:session:${digestOf(ctx)}`)
      const session = text && JSON.parse(text)
      return session && session.endsAt > Date.now() ? session : null
    }
  },
}

const digestOf = (ctx) => hash('sha256', ctx.cookies.get('__Host-session') ?? '', 'base64url')

const credentialOf = credentials[BARE_KIND]()
const router = new Router()
router.get('/users/me', async (ctx) => {
  const credential = await credentialOf(ctx)
  const user = credential && userById.get(credential.userId)
  if (!user?.is_active || user.generation !== credential.generation) ctx.throw(401)
  ctx.body = {
    id: user.id,
    email: user.email,
    is_active: user.is_active === 1,
    is_superuser: user.is_superuser === 1,
    is_verified: user.is_verified === 1,
  }
})

const app = new Koa()
app.use(router.routes())
const server = app.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`))
