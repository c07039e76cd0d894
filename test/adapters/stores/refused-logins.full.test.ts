import Database from 'better-sqlite3'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { memoryRefusedLogins } from '../../../src/adapters/stores/memory/refused-logins.ts'
import { openClient } from '../../../src/adapters/stores/mongo/connection/client.ts'
import { connectionOf } from '../../../src/adapters/stores/mongo/connection/connection.ts'
import { mongoRefusedLogins } from '../../../src/adapters/stores/mongo/refused-logins.ts'
import { redisConnection } from '../../../src/adapters/stores/redis/connection.ts'
import { redisRefusedLogins } from '../../../src/adapters/stores/redis/refused-logins.ts'
import { limitsFile } from '../../../src/adapters/stores/sqlite/limits-file.ts'
import { sqliteRefusedLogins } from '../../../src/adapters/stores/sqlite/refused-logins.ts'
import type { RefusedLogins } from '../../../src/application/ports/stores/refused-logins.ts'
import { needsDeployment, onMongo } from '../../support/services/deployments.ts'
import { openMongo } from '../../support/stores/mongo.ts'
import { needsRedisServer, startRedis } from '../../support/stores/redis.ts'
import { sqliteFolder } from '../../support/stores/sqlite.ts'

const bound = 100
const began = Date.now()
const ever = new Date(0)

/** Adds to `name`, a millisecond after the addition before it. */
function filler(logins: RefusedLogins) {
  let at = began
  return (name: string) => logins.add(name, { reason: 'unknown_address', detail: null, at: new Date(at++) })
}

/** Guesses more addresses than are kept, and one of the first again in between. */
async function expectLatest(logins: RefusedLogins): Promise<void> {
  const add = filler(logins)
  for (let at = 0; at < 20; at++) await add(`old ${at}`)
  await add('old 0')
  for (let at = 0; at < bound - 1; at++) await add(`new ${at}`)
  const isKept = async (key: string) => (await logins.list(key, ever)).length
  for (const at of [1, 10, 19]) expect(await isKept(`old ${at}`), `old ${at}`).to.equal(0)
  // A store that trims from time to time may have removed some more.
  for (const at of [bound - 2, bound / 2, 5]) expect(await isKept(`new ${at}`), `new ${at}`).to.equal(1)
  await add('new 50')
  expect(await isKept('new 50')).to.equal(2)
}

describe('the refused logins of too many addresses are those of the latest ones', () => {
  it('in memory', async () => {
    const logins = memoryRefusedLogins(bound)
    await expectLatest(logins)
    expect(await logins.list('old 0', ever)).to.have.length(2)
  })

  it('in SQLite', async () => {
    const at = await sqliteFolder()
    const file = limitsFile({ driver: Database, dataFolder: at.folder, isSmall: false, warn() {}, isOpen: () => true })
    await expectLatest(sqliteRefusedLogins(file, bound))
    file.close()
    await at.close()
  })

  it('in MongoDB', async function () {
    await needsDeployment(this, onMongo)
    const opened = await openMongo()
    const driver = await import('mongodb')
    const value = openClient(driver, opened.url)
    const name = new URL(opened.url).pathname.slice(1)
    const connection = connectionOf(driver, { value, release: () => value.close() }, name, () => new Date())
    connection.ready()
    await expectLatest(mongoRefusedLogins(connection, bound))
    await connection.close()
    await opened.close()
  })

  it('in Redis, which keeps no key for ever', async function () {
    needsRedisServer(this)
    const server = await startRedis()
    const raw = new Redis(server.url)
    const connection = redisConnection({ Redis }, server.url)
    await connection.connect()
    await expectLatest(redisRefusedLogins(connection.ask, 'p:', bound))
    expect(await raw.zcard('p:{refused}')).to.equal(bound)
    expect(await raw.dbsize()).to.equal(bound + 1)
    for (const key of await raw.keys('*')) expect(await raw.pttl(key), key).to.be.within(1, 86_400_000)
    await connection.close()
    raw.disconnect()
    await server.close()
  })
})
