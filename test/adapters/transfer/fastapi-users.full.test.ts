import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { type FormerDatabase, formerMongo, formerPostgres, formerSqlite } from '../../compat/dumps/load.ts'
import { faultOf } from '../../support/fault-of.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { postgresObstacle } from '../../support/servers/postgres-server.ts'
import { mongoObstacle } from '../../support/stores/mongo.ts'
import { redisServerObstacle, sharedRedisUrl } from '../../support/stores/redis.ts'
import { day, now, readFormer, userOf } from './read-former.ts'

const digestOf = (token: string) => createHash('sha256').update(token).digest('base64url')

const kinds = [
  { kind: 'PostgreSQL', open: formerPostgres, obstacle: async () => postgresObstacle() },
  { kind: 'SQLite', open: formerSqlite, obstacle: async () => null },
  { kind: 'MongoDB', open: formerMongo, obstacle: mongoObstacle },
]

for (const { kind, open, obstacle } of kinds) {
  describe(`the users of a fastapi-users application on ${kind}`, () => {
    let former: FormerDatabase
    before(async function () {
      skipIfMissing(this, await obstacle())
      former = await open()
    })
    after(() => former?.close())

    it('arrive with flags, own fields, links and logins as the application has stored them', async () => {
      const read = await readFormer(former.url)
      expect(read.reasons).to.deep.equal([])
      expect(read.users).to.have.length(former.people.length)
      for (const person of former.people) {
        const user = userOf(read, person.email)
        const { id, isActive, isSuperuser, isVerified, isOwnerProved, createdAt, former: was } = user
        expect(id).to.equal(person.id)
        expect([isActive, isSuperuser, isVerified]).to.deep.equal([
          person.is_active,
          person.is_superuser,
          person.is_verified,
        ])
        expect([isOwnerProved, createdAt]).to.deep.equal([person.is_verified, null])
        expect(user.fields).to.deep.equal(person.own)
        expect(user.passwordHash).to.match(/^\$argon2id\$/)
        expect(was).to.deep.equal({ hashText: user.passwordHash })
        const links = user.accounts.map(({ provider, accountId, vouchedEmail }) => [provider, accountId, vouchedEmail])
        const number = /\d+/.exec(person.email)?.[0]
        const vouched = person.is_verified ? person.email : null
        expect(links).to.have.deep.members(person.links.map((name) => [name, `${name}-${number}`, vouched]))
        const { cookie } = person.tokens
        expect(user.sessions.map(({ digest }) => digest)).to.deep.equal(cookie ? [digestOf(cookie)] : [])
      }
    })

    it('have logins that end as in the application, and in 90 days at the latest', async () => {
      const user = (await readFormer(former.url)).users.find(({ sessions }) => sessions.length > 0)
      const [session] = user?.sessions ?? []
      if (session === undefined) throw new Error('there is no session')
      const { createdAt, endsAt, sid, digest, generation, provedAt } = session
      expect(+endsAt - +createdAt).to.equal(30 * day)
      expect(now.getTime() - +createdAt).to.be.within(0, day)
      expect([sid, generation, provedAt]).to.deep.equal([digest, null, createdAt])
      const forEver = userOf(await readFormer(former.url, { lifetimeSeconds: null }), user?.email ?? '')
      expect(+(forEver.sessions[0]?.endsAt ?? 0)).to.equal(now.getTime() + 90 * day)
      const shortly = userOf(await readFormer(former.url, { lifetimeSeconds: 1 }), user?.email ?? '')
      expect(shortly.sessions).to.deep.equal([])
    })

    it('arrive verified ones first, and again from behind any cursor', async () => {
      const { arrivals, users } = await readFormer(former.url)
      const verified = users.map(({ isVerified }) => isVerified)
      expect(verified).to.deep.equal([...verified].sort((one, other) => Number(other) - Number(one)))
      for (const at of [0, 3, users.length - 2, users.length - 1]) {
        const rest = await readFormer(former.url, {}, arrivals[at]?.cursor ?? null)
        expect(rest.arrivals).to.deep.equal(arrivals.slice(at + 1))
      }
      const later = await readFormer(former.url, { now: new Date(now.getTime() + 60 * day) })
      expect(later.arrivals.map(({ digest }) => digest)).to.deep.equal(arrivals.map(({ digest }) => digest))
    })

    it('do not own their addresses with distrustVerified', async () => {
      const { users } = await readFormer(former.url, { distrustVerified: true })
      expect(users.some(({ isOwnerProved }) => isOwnerProved)).to.equal(false)
      expect(users.some(({ isVerified }) => isVerified)).to.equal(true)
    })

    it('are named with the candidates if a table or a column is missing', async () => {
      const table = await faultOf(readFormer(former.url, { tables: { users: 'people' } }))
      expect(String(table)).to.match(/no "people": name it by --users-table. There are: .*[uU]ser/)
      const column = await faultOf(readFormer(former.url, { columns: { users: { email: 'mail' } } }))
      expect(String(column)).to.match(/no "mail": name it by --column users.email=… There are: .*email/)
      const { warnings } = await readFormer(former.url, { fieldsIfThere: ['age'] })
      expect(warnings.join()).to.match(/not read \(--field name=column\): .*birthday/)
    })
  })
}

describe('the logins of a fastapi-users application in Redis', () => {
  it('belong to their users and keep their ends', async function () {
    skipIfMissing(this, redisServerObstacle())
    const former = await formerSqlite()
    const sessionsFrom = await sharedRedisUrl()
    const redis = new Redis(sessionsFrom)
    const prefix = `former[${process.pid}]:`
    const token = (letter: string) => letter.repeat(43)
    await redis.set(`${prefix}${token('a')}`, '3', 'EX', 3600)
    await redis.set(`${prefix}${token('b')}`, '3')
    await redis.set(`${prefix}short`, '4')
    await redis.lpush(`${prefix}${token('c')}`, '3')
    await redis.set(`other:${token('d')}`, '3', 'EX', 3600)
    const read = await readFormer(former.url, { sessionsFrom, redisKeyPrefix: prefix, tables: {} })
    const own = userOf(read, 'Person.3@example.com').sessions
    const inRedis = own.filter(({ digest }) => [digestOf(token('a')), digestOf(token('b'))].includes(digest))
    expect(own).to.have.length(3)
    const lives = inRedis.map(({ endsAt }) => Math.round((+endsAt - +now) / 1000)).sort((a, b) => a - b)
    expect(lives[0]).to.be.within(3500, 3600)
    expect(lives[1]).to.equal(90 * 86_400)
    expect(read.reasons).to.deep.equal(['user 4 lacks something; a login in Redis: its token is not of fastapi-users'])
    await redis.del(`${prefix}${token('a')}`, `${prefix}${token('b')}`, `${prefix}short`, `${prefix}${token('c')}`)
    redis.disconnect()
  })
})
