// The bare application for GET /users/me, as an experienced developer writes it by hand: Koa, @koa/router, and the look-ups
// of the service, in its database. It is plain JavaScript, so that no loader slows it down.
import { createSecretKey, hash } from 'node:crypto'
import Router from '@koa/router'
import { Redis } from 'ioredis'
import jsonwebtoken from 'jsonwebtoken'
import Koa from 'koa'

const { BARE_STORE, BARE_CREDENTIAL, BARE_REDIS, BARE_JWT_KEY } = process.env

const { userById, sessionByDigest } = await import(`./${BARE_STORE}.mjs`)

const credentials = {
  jwt() {
    const key = createSecretKey(Buffer.from(BARE_JWT_KEY, 'base64'))
    const options = { algorithms: ['HS256'], audience: 'portcullis:auth' }
    return (ctx) => {
      const { sub, gen } = jsonwebtoken.verify(ctx.get('Authorization').slice('Bearer '.length), key, options)
      return { userId: sub, generation: gen }
    }
  },

  session() {
    return async (ctx) => {
      const row = await sessionByDigest(digestOf(ctx))
      return row && { userId: row.user_id, generation: row.generation }
    }
  },

  'redis-session'() {
    const redis = new Redis(BARE_REDIS)
    return async (ctx) => {
      const text = await redis.get(`portcullis:session:${digestOf(ctx)}`)
      const session = text && JSON.parse(text)
      return session && session.endsAt > Date.now() ? session : null
    }
  },
}

const digestOf = (ctx) => hash('sha256', ctx.cookies.get('__Host-session') ?? '', 'base64url')

const credentialOf = credentials[BARE_CREDENTIAL]()
const router = new Router()
router.get('/users/me', async (ctx) => {
  const credential = await credentialOf(ctx)
  const user = credential && (await userById(credential.userId))
  if (!user?.is_active || user.generation !== credential.generation) ctx.throw(401)
  ctx.body = {
    id: user.id,
    email: user.email,
    is_active: Boolean(user.is_active),
    is_superuser: Boolean(user.is_superuser),
    is_verified: Boolean(user.is_verified),
  }
})

const app = new Koa()
app.use(router.routes())
const server = app.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`))
