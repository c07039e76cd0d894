import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { MongoClient } from 'mongodb'
import { call, goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { needsDeployment, onMongo, onSqliteAndRedis } from '../support/services/deployments.ts'
import { goodSecret } from '../support/services/settings.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'
import { needsRedisServer, startRedis } from '../support/stores/redis.ts'
import { inSqlite } from '../support/stores/store-contents.ts'

function folderWithFile(content: string | Uint8Array): string {
  const folder = scratchFolder()
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  writeFileSync(join(folder, 'data', 'portcullis.sqlite'), content, { mode: 0o600 })
  return folder
}

describe('portcullis backup', () => {
  const folder = scratchFolder()
  let service: SpawnedService

  before(async () => {
    service = await spawnService({}, folder)
  })
  after(async () => {
    await service.end('SIGTERM')
  })

  const backUp = (to: string, cwd = folder) => portcullis(['backup', '--to', to], { cwd })

  it('copies the users while the service writes, and a restored copy logs them in', async () => {
    await register(service.url, 'ada@example.com')
    let isOver = false
    const writing = (async () => {
      for (let at = 0; !isOver; at++) await register(service.url, `during.${at}@example.com`)
    })()
    const { code, out, err } = await backUp('copy.sqlite')
    isOver = true
    await writing
    expect([code, out]).to.deep.equal([0, `The backup ${join(folder, 'copy.sqlite')} is complete\n`])
    const secret = join(folder, 'data', 'secret')
    expect(err).to.include(secret)
    expect(statSync(join(folder, 'copy.sqlite')).mode & 0o777).to.equal(0o600)

    const restored = scratchFolder()
    mkdirSync(join(restored, 'data'), { mode: 0o700 })
    copyFileSync(join(folder, 'copy.sqlite'), join(restored, 'data', 'portcullis.sqlite'))
    copyFileSync(secret, join(restored, 'data', 'secret'))
    const again = await spawnService({}, restored)
    await logIn(again.url, 'ada@example.com', goodPassword)
    await again.end('SIGTERM')
  })

  it('overwrites nothing', async () => {
    const to = join(folder, 'kept.sqlite')
    writeFileSync(to, 'an earlier backup')
    const { code, err } = await backUp(to)
    expect([code, err]).to.deep.equal([1, `portcullis: ${to} exists: a backup overwrites nothing\n`])
    expect(readFileSync(to, 'utf8')).to.equal('an earlier backup')
  })

  it('works after a backup to the same file was killed', async () => {
    writeFileSync(join(folder, 'again.sqlite.part'), 'a draft')
    expect((await backUp('again.sqlite')).code).to.equal(0)
  })

  it('creates no store in a wrong folder', async () => {
    const elsewhere = scratchFolder()
    const { code, err } = await backUp('copy.sqlite', elsewhere)
    expect(code).to.equal(2)
    expect(err).to.match(/there is no file \S+portcullis\.sqlite that this user can read: .*\n$/)
    expect(() => statSync(join(elsewhere, 'copy.sqlite'))).to.throw('ENOENT')
    expect(() => statSync(join(elsewhere, 'data'))).to.throw('ENOENT')
  })

  it('names a folder that does not exist', async () => {
    const { code, err } = await backUp('nowhere/copy.sqlite')
    expect([code, err]).to.deep.equal([1, `portcullis: there is no folder ${join(folder, 'nowhere')}\n`])
  })

  it('makes no backup of an empty file', async () => {
    const emptied = folderWithFile('')
    const { code, err } = await backUp('copy.sqlite', emptied)
    expect(code).to.equal(2)
    expect(err).to.match(/portcullis\.sqlite holds no data of Portcullis\n$/)
    expect(() => statSync(join(emptied, 'copy.sqlite'))).to.throw('ENOENT')
  })

  it('names the program for users elsewhere', async () => {
    const env = {
      PORTCULLIS_STORES__USERS__KIND: 'mongo',
      PORTCULLIS_STORES__USERS__URL: 'mongodb://127.0.0.1:1/portcullis',
    }
    const { code, err } = await portcullis(['backup', '--to', 'copy'], { env })
    expect(code).to.equal(2)
    expect(err).to.include('stores.users.kind: is mongo: use mongodump')
  })
})

describe('portcullis secret replace', () => {
  it('binds the users to another secret, and sessions end --all ends the logins of a backup', async () => {
    const folder = scratchFolder()
    const before = await spawnService({}, folder)
    await register(before.url, 'ada@example.com')
    const cookie = await logInByCookie(before.url, 'ada@example.com')
    const bearer = await logIn(before.url, 'ada@example.com')
    await before.end('SIGTERM')
    const file = join(folder, 'data', 'secret')
    const former = readFileSync(file, 'utf8')
    const run = (words: string, env: Readonly<Record<string, string>> = {}) =>
      portcullis(words.split(' '), { cwd: folder, env })
    expect(await run('secret replace')).to.include({ code: 2, out: '' })
    expect(readFileSync(file, 'utf8')).to.equal(former)
    expect(await run('secret replace --yes')).to.include({
      code: 0,
      out: `The users are bound to the new secret in ${file} now\n`,
    })
    expect(readFileSync(file, 'utf8')).to.not.equal(former)
    const env = { PORTCULLIS_SECRET: goodSecret }
    const refused = await run('secret replace --yes', { ...env, PORTCULLIS_FORMER_SECRETS: former.trimEnd() })
    expect([refused.code, refused.err.includes('formerSecrets: must be empty')]).to.deep.equal([2, true])
    expect((await run('secret replace --yes --json', env)).out).to.equal('{"file":null}\n')
    expect((await run('secret replace --yes', env)).err).to.include('is the present one: set a new one first')

    const after = await spawnService(env, folder)
    const status = async (by: { cookie: string } | { bearer: string }) =>
      (await call(after.url, 'GET', '/users/me', by)).status
    expect([await status({ bearer }), await status({ cookie })]).to.deep.equal([401, 200])
    expect((await run('sessions end --all --yes --json', env)).out).to.equal('{"users":1}\n')
    expect(await status({ cookie })).to.equal(401)
    await logIn(after.url, 'ada@example.com')
    await after.end('SIGTERM')
  })
})

describe('portcullis storage migrate', () => {
  it('refuses a wrong folder, and creates no store there', async () => {
    const cwd = scratchFolder()
    const { code, out, err } = await portcullis(['storage', 'migrate'], { cwd })
    expect([code, out]).to.deep.equal([2, ''])
    expect(err).to.match(/there is no file \S+portcullis\.sqlite that this user can read: .*\n$/)
    expect(() => statSync(join(cwd, 'data'))).to.throw('ENOENT')
  })
})

describe('portcullis storage check', () => {
  const check = (cwd: string, env: Readonly<Record<string, string>> = {}) =>
    portcullis(['storage', 'check'], { cwd, env })

  it('names a user whose hash counts as no password, and finds damage in a SQLite file', async () => {
    const folder = scratchFolder()
    const service = await spawnService({}, folder)
    await register(service.url, 'ada@example.com')
    expect(await check(folder)).to.deep.equal({ code: 0, out: 'sqlite (users, sessions, tokens): ok\n', err: '' })
    await service.end('SIGTERM')

    const tooDear = '$argon2id$v=19$m=1048576,t=3,p=1'
    const hash = `${tooDear}$${'a'.repeat(22)}$${'a'.repeat(43)}`
    const hashed = "UPDATE users SET document = json_set(document, '$.passwordHash', ?), password_scheme = ?"
    inSqlite(join(folder, 'data'), (db) => db.prepare(hashed).run(hash, tooDear))
    const { out: named } = await check(folder)
    expect(named).to.match(/^[\w-]+\tada@example\.com\thas no password: the cost of the hash is above the limit/m)
    expect(named).to.include(tooDear)

    const file = join(folder, 'data', 'portcullis.sqlite')
    const root = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_users_1'" // of the ids
    const [page, id] = inSqlite(join(folder, 'data'), (db) => [
      Number(db.prepare(root).pluck().get()),
      String(db.prepare('SELECT id FROM users').pluck().get()),
    ])
    const bytes = readFileSync(file)
    const place = bytes.indexOf(id, 4096 * (page - 1))
    expect(place).to.be.within(4096 * (page - 1), 4096 * page)
    writeFileSync(file, bytes.fill('b', place + 3, place + 6))
    const { code, out, err } = await check(folder)
    expect(code, err).to.equal(1)
    expect(out).to.match(/^sqlite \(users, sessions, tokens\): has faults\n$/)
    expect(err).to.match(/^portcullis: sqlite: row 1 missing from index sqlite_autoindex_users_1$/m)

    writeFileSync(file, 'no database at all')
    const broken = await check(folder)
    expect([broken.code, broken.out]).to.deep.equal([1, 'sqlite (users, sessions, tokens): has faults\n'])
    expect(broken.err).to.include('is damaged or is not a SQLite file')

    const ofIndex = bytes.fill(0xff, 4096 * (page - 1) + 8, 4096 * (page - 1) + 40)
    const inIndex = await check(folderWithFile(ofIndex))
    expect(inIndex.code).to.equal(1)
    expect(inIndex.err).to.match(/^portcullis: sqlite: Tree \d+ page \d+/m)
  })

  it('finds that a file is empty, or of another program', async () => {
    const folder = folderWithFile('')
    for (const statement of ['SELECT 1', 'CREATE TABLE users (id TEXT)']) {
      inSqlite(join(folder, 'data'), (db) => db.exec(statement))
      const { code, err } = await check(folder)
      expect(code).to.equal(1)
      expect(err).to.match(/^portcullis: sqlite: \S+portcullis\.sqlite holds no data of Portcullis$/m)
    }
  })

  it('checks each store', async function () {
    await needsDeployment(this, onSqliteAndRedis)
    const folder = scratchFolder()
    const env = await onSqliteAndRedis.settings()
    const service = await spawnService(env, folder)
    await service.end('SIGTERM')
    const out = 'sqlite (users): ok\nredis (sessions, tokens): ok\n'
    expect(await check(folder, env)).to.deep.equal({ code: 0, out, err: '' })
    const { code, err } = await check(folder, { ...env, PORTCULLIS_STORES__TOKENS__URL: 'redis://127.0.0.1:1' })
    expect(code).to.equal(1)
    expect(err).to.include('redis does not answer')
  })

  for (const [state, settings, cause] of [
    ['full Redis', ['--maxmemory', '1'], /redis refuses the command \(OOM .*maxmemory/],
    ['replica of Redis', ['--replicaof', '127.0.0.1 1'], /\(READONLY /],
  ] as const) {
    it(`finds that a ${state} takes no writes`, async function () {
      needsRedisServer(this)
      const server = await startRedis(settings)
      try {
        const env = {
          PORTCULLIS_STORES__SESSIONS__KIND: 'redis',
          PORTCULLIS_STORES__SESSIONS__URL: server.url,
        }
        const folder = scratchFolder()
        await (await spawnService({}, folder)).end('SIGTERM')
        const { code, out, err } = await check(folder, env)
        expect([code, out]).to.deep.equal([1, 'sqlite (users, tokens): ok\n'])
        expect(err).to.match(cause)
      } finally {
        await server.close()
      }
    })
  }

  it('finds missing indexes of MongoDB, and creates none', async function () {
    await needsDeployment(this, onMongo)
    const env = await onMongo.settings()
    const service = await spawnService(env)
    await service.end('SIGTERM')
    const client = new MongoClient(env.PORTCULLIS_STORES__USERS__URL ?? '')
    const fault = 'portcullis: mongo: the index users.uniqueKeys is missing; the service creates it at its start\n'
    try {
      expect((await check(scratchFolder(), env)).out).to.equal('mongo (users, sessions, tokens): ok\n')
      await client.db().collection('users').dropIndex('uniqueKeys')
      for (let time = 0; time < 2; time++) {
        const { code, err } = await check(scratchFolder(), env)
        expect([code, err]).to.deep.equal([1, fault])
      }
    } finally {
      await client.close()
      await onMongo.remove(env)
    }
  })
})
