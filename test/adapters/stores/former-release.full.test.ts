import { expect } from 'chai'
import { Redis } from 'ioredis'
import jsonwebtoken from 'jsonwebtoken'
import { BSON } from 'mongodb'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { eventually } from '../../support/eventually.ts'
import { call, goodPassword, logIn } from '../../support/http/client.ts'
import { projectFile } from '../../support/project/readme-blocks.ts'
import { sharedMongo } from '../../support/servers/mongo-server.ts'
import { needsDeployment, onMongoAndRedis } from '../../support/services/deployments.ts'
import { goodSecret } from '../../support/services/settings.ts'
import { type SpawnedService, spawnService } from '../../support/services/spawned-service.ts'
import { dropDatabase } from '../../support/stores/mongo.ts'
import { startRedis } from '../../support/stores/redis.ts'
import { inMongo } from '../../support/stores/store-contents.ts'

/** The credentials and tokens that clients of the former release hold. */
interface Facts {
  readonly cookie: string
  readonly jwt: string
  /** A JWT that was logged out. */
  readonly over: string
  /** Tokens in mails: to verify ada@example.com, and to reset the password of grace@example.com. */
  readonly verify: string
  readonly reset: string
}

interface RedisKey {
  readonly key: string
  readonly value?: string
  /** Members and scores in turn. */
  readonly zset?: readonly string[]
  /** Milliseconds. */
  readonly ttl: number
}

interface Servers {
  readonly facts: Facts
  readonly mongo: Readonly<Record<string, object[]>>
  readonly redis: readonly RedisKey[]
}

/** The time of the recording, as the records were opened last. */
let base = 0

/**
 * The records that the release of commit 4c784a5 stored: users, a session, tokens, an ended JWT, and an event and a request
 * that wait. Their times, `{NOW±n}` and `{ISO±n}`, are relative to the time of the test.
 */
function recorded(file: string): string {
  base = Date.now() - 60_000
  return projectFile(`test/adapters/stores/former-release/${file}`)
    .replaceAll(/\{NOW([+-]\d+)\}/g, (_, shift) => String(base + Number(shift)))
    .replaceAll(/\{ISO([+-]\d+)\}/g, (_, shift) => new Date(base + Number(shift)).toISOString())
}

interface Opened {
  readonly service: SpawnedService
  readonly facts: Facts
  close(): Promise<void>
}

async function onServers(): Promise<Opened> {
  const { facts, mongo, redis }: Servers = JSON.parse(recorded('servers.json'))
  const url = (await sharedMongo()).url()
  await inMongo(url, async (db) => {
    for (const [name, documents] of Object.entries(mongo))
      await db.collection(name).insertMany(BSON.EJSON.deserialize(documents) as never)
  })
  const server = await startRedis()
  const client = new Redis(server.url)
  for (const { key, value, zset = [], ttl } of redis) {
    if (value !== undefined) await client.set(key, value)
    for (let at = 0; at < zset.length; at += 2) await client.zadd(key, zset[at + 1] ?? '', zset[at] ?? '')
    await client.pexpire(key, ttl)
  }
  client.disconnect()
  const service = await spawnService({
    PORTCULLIS_SECRET: goodSecret,
    PORTCULLIS_STORES__USERS__KIND: 'mongo',
    PORTCULLIS_STORES__USERS__URL: url,
    PORTCULLIS_STORES__SESSIONS__KIND: 'redis',
    PORTCULLIS_STORES__SESSIONS__URL: server.url,
    PORTCULLIS_STORES__TOKENS__KIND: 'redis',
    PORTCULLIS_STORES__TOKENS__URL: server.url,
  })
  async function close(): Promise<void> {
    await server.stop()
    await dropDatabase(url)
  }
  return { service, facts, close }
}

/** The recorded JWT, issued anew: its hour is over. The service takes one that expires after the recorded end for another one. */
function renewed(jwt: string): string {
  const key = derivedKeys(goodSecret).jwtKey
  const claims = jsonwebtoken.verify(jwt, key, { ignoreExpiration: true }) as object // safe: JSON claims
  const iat = Math.floor(base / 1000)
  return jsonwebtoken.sign({ ...claims, iat, exp: iat + 3600 }, key, { algorithm: 'HS256' })
}

for (const [deployment, open] of [[onMongoAndRedis, onServers]] as const) {
  describe(`the data of the former release in ${deployment.name}`, () => {
    let opened: Opened
    let url: string

    before(async function () {
      await needsDeployment(this, deployment)
      opened = await open()
      url = opened.service.url
    })
    after(async () => {
      if (opened === undefined) return
      expect(await opened.service.end('SIGTERM')).to.equal(0)
      await opened.close()
    })

    const me = async (headers: Readonly<Record<string, string>>) => {
      const { status, body } = await call(url, 'GET', '/users/me', { headers })
      return status === 200 ? (body as { email: string }).email : status // safe: 200 carries a user
    }

    it('log nobody out, and nobody back in', async () => {
      const { cookie, jwt, over } = opened.facts
      expect(await me({ cookie })).to.equal('ada@example.com')
      expect(await me({ authorization: `Bearer ${renewed(jwt)}` })).to.equal('ada@example.com')
      expect(await me({ authorization: `Bearer ${renewed(over)}` })).to.equal(401)
    })

    it('keep users with their passwords', async () => {
      for (const name of ['ada', 'waiting']) await logIn(url, `${name}@example.com`, goodPassword)
    })

    it('keep the tokens of mails', async () => {
      const { verify, reset } = opened.facts
      expect(
        (await call(url, 'POST', '/auth/verify', { json: { token: verify }, headers: { cookie: opened.facts.cookie } }))
          .status,
      ).to.equal(200)
      const answer = await call(url, 'POST', '/auth/reset-password', {
        json: { token: reset, password: 'another good pass phrase' },
      })
      expect(answer.status).to.equal(200)
      await logIn(url, 'grace@example.com', 'another good pass phrase')
    })

    it('keep events and requests that wait, and deliver them', async () => {
      const of = ({ user }: { user: { email: string } }) => user.email === 'waiting@example.com'
      const names = () => opened.service.events.filter(of).map(({ event }) => event)
      await eventually('the delivery of both', () => names().length >= 2)
      expect(names()).to.include.members(['on_after_register', 'on_after_forgot_password'])
      await call(url, 'POST', '/auth/request-verify-token', { json: { email: 'waiting@example.com' } })
      await eventually('the link that a new user has to request', () => names().includes('on_after_request_verify'))
    })
  })
}
