import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { MongoClient } from 'mongodb'
import { mongoBackend } from '../../../src/adapters/stores/mongo/mongo.ts'
import { type StoreHandle, Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { emailKey } from '../../../src/domain/email.ts'
import type { UserId } from '../../../src/domain/ids.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import {
  anAccount,
  anEvent,
  anOAuthState,
  aSession,
  aToken,
  aTokenRequest,
  aUser,
} from '../../../src/testing/builders.ts'
import { inTime } from '../../support/in-time.ts'
import { dropDatabase, mongoObstacle, openMongo } from '../../support/mongo.ts'
import { type MongoServer, NoMongo, sharedMongo, startMongo } from '../../support/mongo-server.ts'
import { mongoSpy } from '../../support/mongo-spy.ts'
import { recovers } from '../../support/outages.ts'

type Opened = Awaited<ReturnType<typeof openMongo>>

const clock = () => new Date()
const open = (url: string | null): Promise<StoreHandle> => mongoBackend.open({ url, dataFolder: '', clock, warn() {} })

function roles(handle: StoreHandle): Required<StoreHandle> {
  const { users, sessions, tokens, oauthStates } = handle
  if (!users || !sessions || !tokens || !oauthStates) throw new Error('the MongoDB store lacks a role')
  return { ...handle, users, sessions, tokens, oauthStates }
}

/** One call of every operation of every role. */
function everyOperation(handle: StoreHandle): Record<string, () => Promise<unknown>> {
  const { users: role, sessions, tokens, oauthStates } = roles(handle)
  const { users, outbox, tokenRequests, expiringIds } = role
  const user = aUser()
  const request = aTokenRequest()
  const token = aToken()
  const session = aSession()
  const state = anOAuthState()
  const now = clock()
  const lease = { userId: user.id, leaseId: 'lease', event: anEvent(user), attempts: 1 }
  return {
    find: () => users.find(user.id),
    findByEmail: () => users.findByEmail(emailKey(user.email)),
    findByOAuthAccount: () => users.findByOAuthAccount('acme', 'account'),
    insert: () => users.insert(user, [anEvent(user)]),
    replace: () => users.replace(user, [anEvent(user)]),
    remove: () => users.remove(user, []),
    passwordSchemes: () => users.passwordSchemes(),
    lease: () => outbox.lease(now, 10, 60),
    renew: () => outbox.renew(lease, now),
    settle: () => outbox.settle(lease),
    postpone: () => outbox.postpone(lease, now),
    bury: () => outbox.bury(lease, now, 'reason'),
    release: () => outbox.release(lease),
    nextDue: () => outbox.nextDue(),
    listDead: () => outbox.listDead(10),
    revive: () => outbox.revive('all', now),
    sweepDead: () => outbox.sweepDead(now, 10),
    ask: () => tokenRequests.ask(request),
    claimRequests: () => tokenRequests.lease(now, 10, 60),
    bind: () => tokenRequests.bind(request, 'fact'),
    postponeRequest: () => tokenRequests.postpone([request], now),
    settleRequests: () => tokenRequests.settle([request]),
    addId: () => expiringIds.add('id', now),
    hasId: () => expiringIds.has('id'),
    sweepIds: () => expiringIds.sweep(10),
    checkSecret: () => role.checkSecret('mark'),
    putSession: () => sessions.put(session),
    findSession: () => sessions.find(session.digest),
    recordUse: () => sessions.recordUse(session.digest, now),
    removeSession: () => sessions.remove(session.digest),
    listOf: () => sessions.listOf(session.userId),
    removeAllSessionsOf: () => sessions.removeAllOf(session.userId),
    sweepSessions: () => sessions.sweep(10),
    putToken: () => tokens.put(token),
    findToken: () => tokens.find(token.purpose, token.digest),
    current: () => tokens.current(token.purpose, token.userId),
    removeToken: () => tokens.remove(token.purpose, token.digest),
    removeAllTokensOf: () => tokens.removeAllOf(token.userId),
    sweepTokens: () => tokens.sweep(10),
    putState: () => oauthStates.put(state, 10),
    takeState: () => oauthStates.take(state.digest),
    sweepStates: () => oauthStates.sweep(10),
  }
}

/** The outcome of each call: `ok`, `Unavailable`, or an error. */
async function outcomes(calls: Record<string, () => Promise<unknown>>): Promise<Set<string>> {
  const each = Object.entries(calls).map(async ([name, call]) => {
    const begun = performance.now()
    const outcome = await call().then(
      () => 'ok',
      (error: unknown) => (error instanceof Unavailable ? 'Unavailable' : `${name}: ${error}`),
    )
    const took = performance.now() - begun
    return took > inTime ? `${name}: ${outcome} after ${took} ms` : outcome
  })
  return new Set(await Promise.all(each))
}

describe('the MongoDB store', () => {
  before(async function () {
    const obstacle = await mongoObstacle()
    if (obstacle === null) return
    if (process.env.TEST_REQUIRE_SERVERS === '1') throw new Error(obstacle)
    process.once('exit', () => console.warn(`NOT TRIED: what is particular to MongoDB, since ${obstacle}`))
    this.skip()
  })

  describe('when it is opened', () => {
    for (const url of [null, 'mongodb://127.0.0.1', 'mongodb://127.0.0.1:27017/', 'mongodb://127.0.0.1/?w=1']) {
      it(`wants a database named, not ${url}`, async () => {
        const error = await open(url).catch((error: unknown) => error)
        expect(error).to.be.instanceOf(Unsuitable)
      })
    }

    it('does not reveal the password of an address that it cannot parse', async () => {
      const error = await open('mongodb://user:hunter2@127.0.0.1:99999/name?nonsense=1').catch(
        (error: unknown) => error,
      )
      expect(error).to.be.instanceOf(Unsuitable)
      expect(String(error) + String((error as Error).cause)).not.to.contain('hunter2')
    })

    it('refuses a file of TLS that cannot be read, by its path', async () => {
      for (const option of ['tlsCAFile', 'tlsCRLFile', 'tlsCertificateKeyFile']) {
        const handle = await open(`mongodb://user:hunter2@127.0.0.1:9/name?tls=true&${option}=/none.pem`)
        const fault = await handle.prepare().catch((error: unknown) => error)
        expect(fault).to.be.instanceOf(Unsuitable)
        expect(String(fault)).to.include('/none.pem').and.to.not.include('hunter2')
        await handle.close()
      }
    })

    it('is refused when its address needs a package that is not installed', async () => {
      const address = (await sharedMongo()).url().replace('//', '//user%40EXAMPLE.COM@')
      const handle = await open(`${address}&authMechanism=GSSAPI&authSource=$external`)
      const fault = await handle.prepare().catch((error: unknown) => error)
      expect(fault).to.be.instanceOf(Unsuitable)
      expect((fault as Unsuitable).message).to.include('kerberos') // safe: as above
      await handle.close()
    })

    it('loads the driver when it is opened, not when the module is imported', async () => {
      const script = `
        const { mongoBackend } = await import(${JSON.stringify(import.meta.resolve('../../../src/adapters/stores/mongo/mongo.ts'))})
        const { createRequire } = await import('node:module')
        const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('/mongodb/'))
        const before = loaded()
        const handle = await mongoBackend.open({ url: 'mongodb://127.0.0.1:1/name', dataFolder: '', clock: () => new Date(), warn() {} })
        console.log(before, loaded())
        await handle.close()`
      const { stdout } = await promisify(execFile)(process.execPath, [
        '--import',
        'tsx',
        '--input-type=module',
        '-e',
        script,
      ])
      expect(stdout.trim()).to.equal('false true')
    })

    it('is unavailable before it is prepared, even if the server is up', async () => {
      const url = (await sharedMongo()).url()
      const handle = await open(url)
      expect(await outcomes(everyOperation(handle))).to.deep.equal(new Set(['Unavailable']))
      await handle.close()
    })

    it('can be prepared by many processes at once', async () => {
      const url = (await sharedMongo()).url()
      const handles = await Promise.all(Array.from({ length: 8 }, () => open(url)))
      await Promise.all(handles.map((handle) => handle.prepare()))
      const user = aUser()
      const inserted = await Promise.all(
        handles.map((handle) => roles(handle).users.users.insert(aUser({ email: user.email }), [])),
      )
      expect(inserted.filter((outcome) => outcome === 'stored')).to.have.length(1)
      await handles[0]?.prepare()
      await Promise.all(handles.map((handle) => handle.close()))
      await dropDatabase(url)
    })
  })

  it('is refused when its indexes cannot be created', async () => {
    const url = (await sharedMongo()).url()
    const client = new MongoClient(url)
    await client
      .db()
      .collection('users')
      .insertMany([{ uniqueKeys: ['e:same'] }, { uniqueKeys: ['e:same'] }])
    await client.close()
    const handle = await open(url)
    expect(await handle.prepare().catch((error: unknown) => error)).to.be.instanceOf(Unsuitable)
    expect(await outcomes(everyOperation(handle))).to.deep.equal(new Set(['Unavailable']))
    await handle.close()
    await dropDatabase(url)
  })

  describe('in use', () => {
    let opened: Opened
    let client: MongoClient

    const stored = (id: UserId) => client.db().collection<{ _id: string }>('users').findOne({ _id: id })

    before(async () => {
      opened = await openMongo()
      client = new MongoClient(opened.url)
    })

    after(async () => {
      await client.close()
      await opened.close()
    })

    it('reads no operators from arguments of untyped callers', async () => {
      const { users, sessions, tokens, oauthStates } = opened.handle
      expect(await users.users.insert(aUser(), [])).to.equal('stored')
      await sessions.put(aSession())
      await tokens.put(aToken())
      await oauthStates.put(anOAuthState(), 10)
      const anything = { $ne: null } as never
      for (const call of [
        () => users.users.find(anything),
        () => sessions.find(anything),
        () => sessions.remove(anything),
        () => sessions.removeAllOf(anything),
        () => tokens.find('reset_password', anything),
        () => tokens.removeAllOf(anything),
        () => oauthStates.take(anything),
      ]) {
        expect(await call().catch((error: unknown) => error)).to.be.instanceOf(TypeError)
      }
      expect(await users.users.findByEmail(anything)).to.equal(null)
      expect(await users.users.findByOAuthAccount('acme', anything)).to.equal(null)
    })

    it('has the server delete records an hour after their expiry', async () => {
      for (const name of ['tokens', 'oauth_states', 'sessions', 'expiring_ids']) {
        const indexes = await client.db().collection(name).indexes()
        const ends = indexes.filter(({ expireAfterSeconds }) => expireAfterSeconds === 3600)
        expect(ends.map(({ key }) => key)).to.deep.equal([{ expiresAt: 1 }])
      }
    })

    it('keeps only the waiting events of a removed user, and nothing after the last one', async () => {
      const { users, outbox } = opened.handle.users
      const user = aUser()
      const deleted = anEvent(user, { type: 'deleted' })
      expect(await users.insert(user, [])).to.equal('stored')
      expect(await users.remove(user, [deleted])).to.equal('removed')
      expect(Object.keys((await stored(user.id)) ?? {})).to.have.members(['_id', 'uniqueKeys', 'removed', 'outbox'])
      for (const lease of await outbox.lease(opened.clock(), 10, 60)) expect(await outbox.settle(lease)).to.equal(true)
      expect(await stored(user.id)).to.equal(null)
    })

    it('keeps the dead letters of a removed user until they are swept, and then nothing', async () => {
      const { users, outbox } = opened.handle.users
      const user = aUser()
      expect(await users.insert(user, [anEvent(user)])).to.equal('stored')
      expect(await users.remove(user, [anEvent(user, { type: 'deleted' })])).to.equal('removed')
      for (const end of ['bury', 'settle'] as const) {
        const [lease] = await outbox.lease(opened.clock(), 1, 60)
        if (lease === undefined) throw new Error('nothing could be leased')
        expect(await outbox[end](lease, opened.clock(), 'it threw')).to.equal(true)
      }
      expect(await outbox.nextDue()).to.equal(null)
      expect(await stored(user.id)).not.to.equal(null)
      opened.clock.advance(1)
      expect(await outbox.sweepDead(opened.clock(), 10)).to.equal(1)
      expect(await stored(user.id)).to.equal(null)
    })

    it('deletes a user at once when no event waits, even while the relay settles the last one', async () => {
      const { users, outbox } = opened.handle.users
      const second = (await opened.second()).users
      for (let round = 0; round < 20; round++) {
        const user = aUser()
        expect(await users.insert(user, [anEvent(user)])).to.equal('stored')
        const [lease] = await outbox.lease(opened.clock(), 1, 60)
        if (lease === undefined) throw new Error('nothing could be leased')
        const both = await Promise.all([second.users.remove(user, []), outbox.settle(lease)])
        expect(both).to.deep.equal(['removed', true])
        expect(await stored(user.id)).to.equal(null)
      }
    })

    for (const taken of ['email_taken', 'account_taken'] as const) {
      it(`never mistakes a holder that vanishes before it is looked up, be it ${taken}`, async () => {
        const { users } = opened.handle.users
        const second = (await opened.second()).users.users
        const { provider, accountId } = anAccount()
        const { email } = aUser()
        const contested = () =>
          taken === 'email_taken' ? { email } : { oauthAccounts: [anAccount(), anAccount({ provider, accountId })] }
        const seen = { stored: 0, email_taken: 0, account_taken: 0, Unavailable: 0 }
        /** Where no answer came in time it may have been written, or not been removed. */
        const unknown: User[] = []
        const contender = async (store: typeof users): Promise<void> => {
          for (let round = 0; round < 20; round++) {
            const user = aUser(contested())
            try {
              const outcome = await store.insert(user, [])
              seen[outcome]++
              if (outcome !== 'stored') continue
              expect(await store.remove(user, [])).to.equal('removed')
            } catch (error) {
              if (!(error instanceof Unavailable)) throw error
              seen.Unavailable++
              unknown.push(user)
            }
          }
        }
        await Promise.all(Array.from({ length: 16 }, (_, at) => contender(at % 2 ? users : second)))
        expect(seen.stored).to.be.greaterThan(1)
        expect(seen[taken]).to.be.greaterThan(1)
        // Without repetition it is every sixth call.
        expect(seen.Unavailable).to.be.lessThan(5)
        expect(seen.stored + seen[taken] + seen.Unavailable).to.equal(16 * 20)
        for (const user of unknown) await users.remove(user, [])
        expect(await users.findByEmail(emailKey(email))).to.equal(null)
        expect(await users.findByOAuthAccount(provider, accountId)).to.equal(null)
      })
    }
  })

  describe('whose server is down', () => {
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
      expect(await outcomes({ prepare, ping })).to.deep.equal(new Set(['Unavailable']))
      await server.restart()
      await recovers(() => handle.prepare())
      expect(await outcomes(everyOperation(handle))).to.deep.equal(new Set(['ok']))
    })

    it('is unavailable within 2 s while the server is down, and works again by itself', async () => {
      const { users } = roles(handle).users
      const user = aUser()
      expect(await users.insert(user, [])).to.equal('stored')
      await server.stop()
      const calls = { ...everyOperation(handle), ping: () => handle.ping() }
      expect(await outcomes(calls)).to.deep.equal(new Set(['Unavailable']))
      await server.restart()
      await recovers(() => handle.ping())
      expect(await outcomes(everyOperation(handle))).to.deep.equal(new Set(['ok']))
      expect(await users.find(user.id)).to.deep.equal(user)
    })

    it('is unavailable within 2 s while the server hangs, and works again when it goes on', async () => {
      const pid = server.pid ?? 0
      process.kill(pid, 'SIGSTOP')
      try {
        const calls = { ...everyOperation(handle), ping: () => handle.ping() }
        expect(await outcomes(calls)).to.deep.equal(new Set(['Unavailable']))
        // More callers than connections: those that wait for one are answered as soon.
        const many = Array.from({ length: 200 }, (_, at) => [`ping ${at}`, () => handle.ping()])
        expect(await outcomes(Object.fromEntries(many))).to.deep.equal(new Set(['Unavailable']))
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      await recovers(() => handle.ping())
      expect(await outcomes(everyOperation(handle))).to.deep.equal(new Set(['ok']))
    })
  })

  it('has every write journaled by a majority, whatever the address says', async () => {
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
      await outcomes(everyOperation(handle))
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
