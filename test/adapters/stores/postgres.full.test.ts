import { expect } from 'chai'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { type StoreHandle, Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { anEvent, aUser } from '../../../src/testing/builders.ts'
import { eventually } from '../../support/eventually.ts'
import { faultOf } from '../../support/fault-of.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import {
  type PostgresServer,
  postgresObstacle,
  sharedPostgres,
  startPostgres,
} from '../../support/servers/postgres-server.ts'
import { recovers } from '../../support/stores/outages.ts'
import { everyOperation, everythingWorks, outcomesOf } from '../../support/stores/store-operations.ts'

type Handle = Required<StoreHandle>

const open = (url: string, schema = 'portcullis'): Promise<Handle> =>
  postgresBackend.open({ url, schema, clock: () => new Date(), warn() {} })

/** The message of `Unsuitable` at the preparation. */
async function refusalOf(url: string, schema?: string): Promise<string> {
  const handle = await open(url, schema)
  const fault = await faultOf(recovers(() => handle.prepare()))
  await handle.close()
  expect(fault).to.be.instanceOf(Unsuitable)
  return String(fault)
}

describe('the PostgreSQL store', () => {
  before(function () {
    skipIfMissing(this, postgresObstacle())
  })

  describe('when it is opened', () => {
    let server: PostgresServer
    let url: string

    before(async () => {
      server = await sharedPostgres()
      url = await server.newDatabase()
    })

    it('refuses a database that does not exist', async () => {
      expect(await refusalOf(`${url}_none`)).to.include('the database in its address does not exist')
    })

    it('refuses a database of another encoding', async () => {
      const other = await server.newDatabase(`ENCODING 'LATIN1' TEMPLATE template0`)
      expect(await refusalOf(other)).to.include('the encoding LATIN1')
    })

    it('refuses a schema with tables of another program, and changes nothing there', async () => {
      const database = new URL(url).pathname.slice(1)
      await server.query('CREATE SCHEMA other; CREATE TABLE other.users (id int)', database)
      expect(await refusalOf(url, 'other')).to.include('tables of another program')
      await server.query('DROP TABLE other.users; DROP SCHEMA other', database)
    })

    it('refuses a user without the right to create the schema', async () => {
      await server.query(`CREATE ROLE guest LOGIN`)
      expect(await refusalOf(url.replace('postgres@', 'guest@'))).to.include('may not use this schema')
    })

    it('refuses a server that acknowledges writes before they are durable', async () => {
      const lax = await server.newDatabase()
      await server.query(`ALTER DATABASE ${new URL(lax).pathname.slice(1)} SET synchronous_commit = off`)
      expect(await refusalOf(lax)).to.include('synchronous_commit')
    })

    it('can be prepared by many handles at once', async () => {
      const handles = await Promise.all(Array.from({ length: 8 }, () => open(url)))
      await Promise.all(handles.map((handle) => recovers(() => handle.prepare())))
      await everythingWorks(handles[0] ?? expect.fail('no handle'))
      await Promise.all(handles.map((handle) => handle.close()))
    })

    it('refuses texts that the server would change', async () => {
      const handle = await open(url)
      await recovers(() => handle.prepare())
      for (const text of ['a\0b', 'a\ud800']) {
        expect(await faultOf(handle.secretMark.check(text)), text).to.be.instanceOf(TypeError)
        expect(await handle.users.findByOAuthAccount(text, 'x'), text).to.equal(null)
      }
      await handle.close()
    })
  })

  describe('with a server that is down', () => {
    let server: PostgresServer
    let url: string
    let handle: Handle

    before(async () => {
      server = await startPostgres()
      url = await server.newDatabase()
      handle = await open(url)
      await recovers(() => handle.prepare())
      await everythingWorks(handle)
    })

    after(async () => {
      await handle.close()
      await server.destroy()
    })

    it('is unavailable within 2 s while the server hangs, and works again afterwards', async () => {
      const pids = server.processes()
      for (const pid of pids) process.kill(pid, 'SIGSTOP')
      try {
        const calls = { ...everyOperation(handle), ping: () => handle.ping() }
        expect(await outcomesOf(calls)).to.deep.equal(new Set(['Unavailable']))
        // There are more callers than connections. The callers that wait for one are answered as soon.
        const many = Array.from({ length: 200 }, (_, at) => [`ping ${at}`, () => handle.ping()])
        expect(await outcomesOf(Object.fromEntries(many))).to.deep.equal(new Set(['Unavailable']))
      } finally {
        for (const pid of pids) process.kill(pid, 'SIGCONT')
      }
      await recovers(() => handle.ping())
      await everythingWorks(handle)
    })

    it('is unavailable while the server is down, can be prepared once it is back, and has kept each stored user', async () => {
      const stored: string[] = []
      let isDown = false
      const writer = (async () => {
        while (!isDown) {
          const user = aUser()
          const outcome = await handle.users.insert(user, [anEvent(user)]).catch(() => null)
          if (outcome === 'stored') stored.push(user.id)
        }
      })()
      await eventually('some stored users', () => stored.length > 20)
      await server.stop('SIGQUIT') // at once, without a checkpoint
      isDown = true
      await writer
      const calls = { ...everyOperation(handle), ping: () => handle.ping() }
      expect(await outcomesOf(calls)).to.deep.equal(new Set(['Unavailable']))
      const late = await open(url)
      expect(await outcomesOf({ prepare: late.prepare })).to.deep.equal(new Set(['Unavailable']))
      await server.restart()
      await recovers(() => late.prepare())
      await everythingWorks(handle)
      for (const id of stored) expect(await late.users.find(id as never)).to.not.equal(null)
      await late.close()
    })
  })
})
