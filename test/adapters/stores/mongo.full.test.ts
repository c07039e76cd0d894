import { expect } from 'chai'
import * as driver from 'mongodb'
import { openClient } from '../../../src/adapters/stores/mongo/connection/client.ts'
import { connectionOf, fullness } from '../../../src/adapters/stores/mongo/connection/connection.ts'
import { mongoBackend } from '../../../src/adapters/stores/mongo/mongo.ts'
import { mongoSuperusers } from '../../../src/adapters/stores/mongo/superusers.ts'
import { type StoreHandle, Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { emailKey } from '../../../src/domain/email.ts'
import { noFactors } from '../../../src/domain/factors.ts'
import { noFields } from '../../../src/domain/fields.ts'
import type { UserId } from '../../../src/domain/ids.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import { keysOf, unique } from '../../../src/domain/user-record.ts'
import { anEvent, aSession, aSingleUseRecord, aToken, aUser, someFactors } from '../../../src/testing/builders.ts'
import { faultOf } from '../../support/fault-of.ts'
import { hang } from '../../support/process/hang.ts'
import { type MongoServer, NoMongo, sharedMongo, startMongo } from '../../support/servers/mongo-server.ts'
import { needsDeployment, onMongo } from '../../support/services/deployments.ts'
import { dropDatabase, openMongo } from '../../support/stores/mongo.ts'
import { mongoSpy } from '../../support/stores/mongo-spy.ts'
import { recovers } from '../../support/stores/outages.ts'
import { everyOperation, everythingWorks, outcomesOf } from '../../support/stores/store-operations.ts'

type Opened = Awaited<ReturnType<typeof openMongo>>

const clock = () => new Date()
const open = (url: string): Promise<StoreHandle> => mongoBackend.open({ url, clock, warn() {} })

function usersOf({ users }: StoreHandle) {
  return users ?? expect.fail('the MongoDB store lacks users')
}

describe('the MongoDB store', () => {
  before(async function () {
    await needsDeployment(this, onMongo)
  })

  describe('when it is opened', () => {
    for (const url of ['', 'mongodb://127.0.0.1', 'mongodb://127.0.0.1:27017/', 'mongodb://127.0.0.1/?w=1']) {
      it(`wants a database named, not ${url}`, async () => {
        expect(await faultOf(open(url))).to.be.instanceOf(Unsuitable)
      })
    }

    it('does not reveal the password of an address that it cannot parse', async () => {
      const error = await faultOf(open('mongodb://user:hunter2@127.0.0.1:99999/name?nonsense=1'))
      expect(error).to.be.instanceOf(Unsuitable)
      expect(String(error) + String((error as Error).cause)).not.to.contain('hunter2')
    })

    it('refuses a file of TLS that cannot be read, by its path', async () => {
      for (const option of ['tlsCAFile', 'tlsCRLFile', 'tlsCertificateKeyFile']) {
        const handle = await open(`mongodb://user:hunter2@127.0.0.1:9/name?tls=true&${option}=/none.pem`)
        const fault = await faultOf(handle.prepare())
        expect(fault).to.be.instanceOf(Unsuitable)
        expect(String(fault)).to.include('/none.pem').and.to.not.include('hunter2')
        await handle.close()
      }
    })

    it('is refused when its address needs a package that is not installed', async () => {
      const address = (await sharedMongo()).url().replace('//', '//user%40EXAMPLE.COM@')
      const handle = await open(`${address}&authMechanism=GSSAPI&authSource=$external`)
      const fault = await faultOf(handle.prepare())
      expect(fault).to.be.instanceOf(Unsuitable)
      expect(String(fault)).to.include('kerberos')
      await handle.close()
    })

    it('can be prepared by many clients at once', async () => {
      const url = (await sharedMongo()).url()
      const handles = await Promise.all(Array.from({ length: 8 }, () => open(url)))
      await Promise.all(handles.map((handle) => recovers(() => handle.prepare())))
      const user = aUser()
      const inserted = await Promise.all(
        handles.map((handle) => usersOf(handle).insert(aUser({ email: user.email }), [])),
      )
      expect(inserted.filter((outcome) => outcome === 'stored')).to.have.length(1)
      await handles[0]?.prepare()
      await Promise.all(handles.map((handle) => handle.close()))
      await dropDatabase(url)
    })
  })

  // The stand-in for MongoDB stores documents of any size.
  it('is unavailable for a change that makes a document too large', async () => {
    const client = openClient(driver, (await sharedMongo()).url())
    const connection = connectionOf(driver, { value: client, release: client.close }, 'large', clock)
    for (const code of [10334, 17419, 17420]) {
      const tooLarge = () => Promise.reject(new driver.MongoServerError({ code, errmsg: 'is larger than 16777216' }))
      expect(await faultOf(connection.translate(tooLarge)), `${code}`).to.be.instanceOf(Unavailable)
    }
    await connection.close()
  })

  it('is unavailable when its indexes cannot be created', async () => {
    const url = (await sharedMongo()).url()
    const client = new driver.MongoClient(url)
    await client
      .db()
      .collection('users')
      .insertMany([{ uniqueKeys: ['e:same'] }, { uniqueKeys: ['e:same'] }])
    await client.close()
    const handle = await open(url)
    expect(await faultOf(handle.prepare())).to.be.instanceOf(Unsuitable)
    expect(await outcomesOf(everyOperation(handle))).to.deep.equal(new Set(['Unavailable']))
    await handle.close()
    await dropDatabase(url)
  })

  describe('in use', () => {
    let opened: Opened
    let client: driver.MongoClient

    const stored = (id: UserId) =>
      client.db().collection<{ _id: string; sessions?: object; factors?: object }>('users').findOne({ _id: id })

    async function removeSuperuser(id: UserId): Promise<void> {
      const user = await opened.handle.users.find(id)
      if (user !== null) await opened.handle.users.remove(user, [anEvent(user)], { mayLeaveNoSuperuser: true })
    }

    before(async () => {
      opened = await openMongo()
      client = new driver.MongoClient(opened.url)
    })

    after(async () => {
      await client.close()
      await opened.close()
    })

    it('reads no operators from arguments of untyped callers', async () => {
      const { users, sessions, tokens, singleUseRecords } = opened.handle
      expect(await users.insert(aUser(), [])).to.equal('stored')
      await sessions.put(aSession())
      await tokens.put(aToken())
      await singleUseRecords.put(aSingleUseRecord(), 10)
      const anything = { $ne: null } as never
      for (const call of [
        () => users.find(anything),
        () => sessions.find(anything),
        () => sessions.remove(anything),
        () => sessions.removeAllOf(anything),
        () => tokens.find('reset_password', anything),
        () => tokens.removeAllOf(anything),
        () => singleUseRecords.take(anything),
      ]) {
        expect(await faultOf(call())).to.be.instanceOf(TypeError)
      }
      expect(await users.findBy(unique.email(anything))).to.equal(null)
      expect(await users.findBy(unique.account({ provider: 'acme', accountId: anything }))).to.equal(null)
    })

    it('reads sessions and users as an earlier release has written them', async () => {
      const { digest, sid: _, provedAt: __, methods: ___, ...fields } = aSession()
      const document = { _id: digest, ...fields, expiresAt: fields.endsAt }
      await client.db().collection<{ _id: string }>('sessions').insertOne(document)
      const session = { digest, ...fields, sid: digest, provedAt: fields.createdAt, methods: [] }
      expect(await opened.handle.sessions.find(digest)).to.deep.equal(session)

      const user = aUser()
      await opened.handle.users.insert(user, [])
      const { generation, keptSid } = user.sessions
      expect((await stored(user.id))?.sessions, 'names').to.deep.equal({ generation, keptCredentialId: keptSid })

      const later = { fields: '', imported: '', factors: '', inactiveUntil: '', inactiveReason: '' } as const
      await client.db().collection<{ _id: string }>('users').updateOne({ _id: user.id }, { $unset: later })
      const read = { ...user, fields: noFields, imported: null, factors: noFactors }
      expect(await opened.handle.users.find(user.id)).to.deep.equal(read)
    })

    it('keeps the members of users that a later release has written', async () => {
      const user = aUser()
      await opened.handle.users.insert(user, [])
      const later = { later: { at: new Date(7) } }
      await client.db().collection<{ _id: string }>('users').updateOne({ _id: user.id }, { $set: later })
      const read = { ...user, others: later }
      expect(await opened.handle.users.find(user.id)).to.deep.equal(read)
      const { version } = user
      expect(await opened.handle.users.replace({ ...read, isVerified: false }, [])).to.equal('stored')
      const changed = { ...read, isVerified: false, version: version + 1 }
      expect(await opened.handle.users.find(user.id)).to.deep.equal(changed)
      await opened.handle.users.remove(changed, [anEvent(user, { type: 'deleted' })])
      expect(await stored(user.id)).to.not.have.property('later')
    })

    it('finds users by the beginning of their address whom an earlier release has written', async () => {
      const own = await openMongo()
      const mongo = new driver.MongoClient(own.url)
      try {
        const users = mongo.db().collection<{ _id: string }>('users')
        const all = Array.from({ length: 210 }, () => aUser())
        for (const user of all) expect(await own.handle.users.insert(user, [])).to.equal('stored')
        await users.updateMany({}, { $unset: { emailKey: '' } })
        await mongo
          .db()
          .collection<{ _id: string }>('meta')
          .updateOne({ _id: 'schema' }, { $set: { version: 9, oldest: 9 } })
        const later = await open(own.url)
        await recovers(() => later.prepare())
        for (const user of [all[0], all[99], all[100], all[209]]) {
          const text = emailKey(user?.email ?? expect.fail('there are fewer'))
          const found = await usersOf(later).search({ prefix: { field: null, text } }, 2, null)
          expect(found).to.have.nested.property('items[0].user.id', user?.id)
        }
        expect(await users.countDocuments({ emailKey: { $exists: false } })).to.equal(0)
        await later.close()
      } finally {
        await mongo.close()
        await own.close()
      }
    })

    it('finds users by passkeys whose keys an earlier release has written', async () => {
      const own = await openMongo()
      const mongo = new driver.MongoClient(own.url)
      try {
        const users = mongo.db().collection<{ _id: string; uniqueKeys: string[] }>('users')
        const user = aUser({ factors: someFactors() })
        const [key = expect.fail('there is no passkey')] = keysOf(user).filter(({ kind }) => kind === 'passkey')
        expect(await own.handle.users.insert(user, [])).to.equal('stored')
        await users.updateOne({ _id: user.id }, { $pull: { uniqueKeys: `p:${key.key}` } })
        await users.updateOne({ _id: user.id }, { $push: { uniqueKeys: 'f::passkey:handle' } })
        await users.updateOne({ _id: user.id }, { $set: { 'fields.keys.:passkey': 'handle' } })
        await mongo
          .db()
          .collection<{ _id: string }>('meta')
          .updateOne({ _id: 'schema' }, { $set: { version: 11, oldest: 11 } })
        const later = await open(own.url)
        await recovers(() => later.prepare())
        expect(await usersOf(later).findBy(key)).to.deep.equal(user)
        expect(await users.countDocuments({ uniqueKeys: 'f::passkey:handle' })).to.equal(0)
        await later.close()
      } finally {
        await mongo.close()
        await own.close()
      }
    })

    it('is refused by a release without second factors', async () => {
      const meta = client.db().collection<{ _id: string; oldest: number }>('meta')
      expect((await meta.findOne({ _id: 'schema' }))?.oldest).to.be.at.least(9)
    })

    it('removes the second factors with their user, while the events of the user wait', async () => {
      const user = aUser({ factors: someFactors() })
      await opened.handle.users.insert(user, [])
      expect((await stored(user.id))?.factors).to.deep.equal(user.factors)
      expect(await opened.handle.users.remove(user, [anEvent(user, { type: 'deleted' })])).to.equal('removed')
      expect(await stored(user.id))
        .to.include({ removed: true })
        .and.not.have.property('factors')
    })

    describe('with two superusers', () => {
      let connection: ReturnType<typeof connectionOf>
      let one: User
      let other: User

      const find = async (user: User) => (await opened.handle.users.find(user.id)) ?? expect.fail('the user has gone')
      const demote = (user: User) => opened.handle.users.replace({ ...user, isActive: false }, [])

      beforeEach(async () => {
        const own = openClient(driver, opened.url)
        connection = connectionOf(driver, { value: own, release: own.close }, client.db().databaseName, clock)
        one = aUser({ isSuperuser: true })
        other = aUser({ isSuperuser: true })
        for (const user of [one, other]) await opened.handle.users.insert(user, [])
      })
      afterEach(async () => {
        await connection.close()
        for (const user of [one, other]) await removeSuperuser(user.id)
      })

      it('makes a demotion stale if its user was appointed keeper meanwhile', async () => {
        const { mayLose } = mongoSuperusers(connection)
        expect(await mayLose(one.id)).to.equal(true)
        expect(await mayLose(other.id)).to.equal(true) // appoints the first one
        expect(await demote(one)).to.equal('stale')
      })

      it('appoints no keeper whose demotion was counted meanwhile', async () => {
        const { mayLose } = mongoSuperusers(connection)
        expect(await mayLose(other.id)).to.equal(true) // appoints the first one
        let pending: User | null = null
        const meta = Object.assign(Object.create(connection.meta), {
          async updateOne(...given: Parameters<typeof connection.meta.updateOne>) {
            if (pending === null) {
              pending = await find(other)
              expect(await mayLose(other.id)).to.equal(true)
            }
            return connection.meta.updateOne(...given)
          },
        })
        expect(await mongoSuperusers({ ...connection, meta }).mayLose(one.id)).to.equal(true)
        expect(pending === null ? null : await demote(pending)).to.equal('stale')
      })
    })

    it('keeps a superuser although a restored backup names a keeper who is none', async () => {
      const { users } = opened.handle
      const [one, other, demoted] = [aUser({ isSuperuser: true }), aUser({ isSuperuser: true }), aUser()]
      for (const user of [one, other, demoted]) await users.insert(user, [])
      const meta = client.db().collection<{ _id: string }>('meta')
      await meta.updateOne({ _id: 'superusers' }, { $set: { keeper: demoted.id } }, { upsert: true })
      expect(await users.replace({ ...one, isSuperuser: false }, [])).to.equal('stored')
      const last = await users.find(other.id)
      if (last === null) throw new Error('the last superuser has gone')
      expect(await users.remove(last, [anEvent(last)])).to.equal('last_superuser')
      await meta.updateOne({ _id: 'superusers' }, { $set: { keeper: demoted.id } })
      expect(await users.remove(last, [anEvent(last)])).to.equal('last_superuser')
      await removeSuperuser(other.id)
    })

    it('lets the server delete records an hour after their expiry', async () => {
      for (const name of ['tokens', 'oauth_states', 'sessions', 'expiring_ids']) {
        const indexes = await client.db().collection(name).indexes()
        const ends = indexes.filter(({ expireAfterSeconds }) => expireAfterSeconds === 3600)
        expect(ends.map(({ key }) => key)).to.deep.equal([{ expiresAt: 1 }])
      }
    })

    it('repeats an insert when the holder of the key is removed before the look-up', async () => {
      const { users } = opened.handle
      const second = (await opened.second()).users
      const { email } = aUser()
      const seen = { stored: 0, email_taken: 0, account_taken: 0, field_taken: 0, passkey_taken: 0, givenUp: 0 }
      /** Users of whom no answer came in time: they may have been stored. */
      const unknown: User[] = []
      const contender = async (store: typeof users): Promise<void> => {
        for (let round = 0; round < 20; round++) {
          const user = aUser({ email })
          try {
            const outcome = await store.insert(user, [])
            seen[outcome]++
            const deleted = anEvent(user, { type: 'deleted' })
            if (outcome === 'stored') expect(await store.remove(user, [deleted])).to.equal('removed')
          } catch (error) {
            if (!(error instanceof Unavailable)) throw error
            if (error.message.includes('take and release')) seen.givenUp++ // not for a busy server
            unknown.push(user)
          }
        }
      }
      await Promise.all(Array.from({ length: 16 }, (_, at) => contender(at % 2 ? users : second)))
      expect(seen.stored).to.be.greaterThan(1)
      expect(seen.email_taken).to.be.greaterThan(1)
      // Without repetition it is every sixth call.
      expect(seen.givenUp).to.be.lessThan(5)
      for (const user of unknown) await users.remove(user, [anEvent(user, { type: 'deleted' })])
      expect(await users.findBy(unique.email(emailKey(email)))).to.equal(null)
    })
  })

  describe('with a server that is down', () => {
    let server: MongoServer
    let handle: StoreHandle

    before(async function () {
      try {
        server = await startMongo()
      } catch (error) {
        if (!(error instanceof NoMongo) || process.env.TEST_REQUIRE_SERVERS === '1') throw error
        process.once('exit', () => console.warn(`NOT TRIED: MongoDB going away, since ${error.message}`))
        this.skip()
      }
    })

    after(async () => {
      await handle?.close()
      await server?.destroy()
    })

    it('throws Unavailable within 2 s at its preparation, and can be prepared once the server is back', async () => {
      await server.stop()
      handle = await open(server.url('outage'))
      const { prepare, ping } = handle
      expect(await outcomesOf({ prepare, ping })).to.deep.equal(new Set(['Unavailable']))
      await server.restart()
      await recovers(() => handle.prepare())
      await everythingWorks(handle)
    })

    it('is unavailable within 2 s while the server hangs, and works again afterwards', async () => {
      const pid = server.pid ?? 0
      try {
        await hang([pid])
        const calls = { ...everyOperation(handle), ping: () => handle.ping() }
        expect(await outcomesOf(calls)).to.deep.equal(new Set(['Unavailable']))
        // There are more callers than connections. The callers that wait for one are answered as soon.
        const many = Array.from({ length: 200 }, (_, at) => [`ping ${at}`, () => handle.ping()])
        expect(await outcomesOf(Object.fromEntries(many))).to.deep.equal(new Set(['Unavailable']))
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      await recovers(() => handle.ping())
      await everythingWorks(handle)
    })
  })

  it('runs one count at a time for a flood of callers that meet a full collection', async () => {
    const url = (await sharedMongo()).url()
    const client = new driver.MongoClient(url, { monitorCommands: true })
    let running = 0
    let most = 0
    client.on('commandStarted', ({ commandName }) => {
      if (commandName === 'aggregate') most = Math.max(most, ++running)
    })
    client.on('commandSucceeded', ({ commandName }) => {
      if (commandName === 'aggregate') running -= 1
    })
    try {
      const records = client.db().collection('records')
      await records.insertMany([{}, {}, {}])
      const isFull = fullness(records, () => ({}))
      const verdicts = await Promise.all(Array.from({ length: 50 }, () => isFull(3)))
      expect(new Set(verdicts)).to.deep.equal(new Set([true]))
      expect(most).to.equal(1)
      expect(await isFull(4)).to.equal(false)
    } finally {
      await client.close()
      await dropDatabase(url)
    }
  })

  it('changes and removes a user who is no superuser by one command each', async () => {
    const url = new URL((await sharedMongo()).url())
    const spy = await mongoSpy(Number(url.port))
    const { href } = url
    url.port = String(spy.port)
    const handle = await open(url.href)
    try {
      await handle.prepare()
      const user = aUser()
      await usersOf(handle).insert(user, [])
      spy.commands.length = 0
      expect(await usersOf(handle).replace({ ...user, isActive: false }, [anEvent(user)])).to.equal('stored')
      expect(await usersOf(handle).remove({ ...user, version: user.version + 1 }, [anEvent(user)])).to.equal('removed')
      const ofUsers = spy.commands.filter(({ name }) => ['update', 'find', 'findAndModify'].includes(name))
      expect(ofUsers.map(({ name }) => name)).to.deep.equal(['update', 'update'])
    } finally {
      await handle.close()
      await spy.close()
      await dropDatabase(href)
    }
  })

  it('waits for a majority to journal each write, even if the address asks for less', async () => {
    const url = new URL((await sharedMongo()).url())
    const spy = await mongoSpy(Number(url.port))
    const { href } = url
    url.port = String(spy.port)
    const lax = { w: '1', journal: 'false', readConcernLevel: 'local' }
    for (const [name, value] of Object.entries(lax)) url.searchParams.set(name, value)
    const handle = await open(url.href)
    try {
      await handle.prepare()
      spy.commands.length = 0
      const { limiter, refusedLogins, ...records } = handle
      await outcomesOf(everyOperation(records))
      const writes = spy.commands.filter(({ name }) => ['insert', 'update', 'delete', 'findAndModify'].includes(name))
      expect(new Set(writes.map(({ name }) => name)).size).to.equal(4)
      for (const { name, writeConcern } of writes) {
        expect(writeConcern, name).to.include({ w: 'majority', j: true })
      }
      const reads = spy.commands.filter(({ name }) => name === 'find')
      const levels = reads.map(({ readConcern }) => (readConcern as { level: string }).level)
      expect(new Set(levels)).to.deep.equal(new Set(['majority', 'local']))
    } finally {
      await handle.close()
      await spy.close()
      await dropDatabase(href)
    }
  })
})
