// The bare application for POST /auth/jwt/login, as an experienced developer writes it by hand: Koa, @koa/router, koa-body,
// the user from the database of the service, argon2.verify with the concurrency of the service, and a signed token. With
// PostgreSQL it makes the queries of the service: it counts attempts in the database, and records the time of the login.
// It is plain JavaScript, so that no loader slows it down.
import { createSecretKey, randomUUID } from 'node:crypto'
import Router from '@koa/router'
import argon2 from 'argon2'
import jsonwebtoken from 'jsonwebtoken'
import Koa from 'koa'
import { koaBody } from 'koa-body'

const { BARE_STORE, BARE_JWT_KEY, BARE_CONCURRENCY } = process.env

const { userByEmail, countAttempt, recordLogin } = await import(`./${BARE_STORE}.mjs`)
const key = createSecretKey(Buffer.from(BARE_JWT_KEY, 'base64'))

let free = Number(BARE_CONCURRENCY)
const waiting = []

async function isMatch(hash, password) {
  if (free > 0) free--
  else await new Promise((begin) => waiting.push(begin))
  try {
    return await argon2.verify(hash, password)
  } finally {
    const begin = waiting.shift()
    if (begin === undefined) free++
    else begin()
  }
}

const router = new Router()
router.post('/auth/jwt/login', koaBody(), async (ctx) => {
  const { username, password } = ctx.request.body
  await countAttempt?.(username)
  const user = await userByEmail(username)
  if (!user?.is_active || !(await isMatch(user.password_hash, password))) ctx.throw(400)
  await recordLogin?.(user.id, username)
  const options = { expiresIn: 3600, audience: 'portcullis:auth', jwtid: randomUUID() }
  ctx.body = {
    access_token: jsonwebtoken.sign({ sub: user.id, gen: user.generation }, key, options),
    token_type: 'bearer',
  }
})

const app = new Koa()
app.use(router.routes())
const server = app.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`))
