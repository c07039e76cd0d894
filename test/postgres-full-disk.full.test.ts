import { expect } from 'chai'
import { eventually } from './support/eventually.ts'
import { call, goodPassword, logIn } from './support/http/client.ts'
import { portcullis } from './support/process/command-line.ts'
import { quickest } from './support/scenes/quickest.ts'
import { skipIfMissing } from './support/servers/obstacles.ts'
import { type PostgresServer, postgresObstacle, startPostgres } from './support/servers/postgres-server.ts'
import { type SmallDisk, smallDisk } from './support/servers/small-disk.ts'
import { startTestService, type TestService } from './support/services/service.ts'
import { goodSecret } from './support/services/settings.ts'
import { scratchFolder } from './support/services/spawned-service.ts'
import { postgresContents } from './support/stores/store-contents.ts'

describe('a full disk of PostgreSQL', () => {
  let disk: SmallDisk
  let server: PostgresServer
  let service: TestService | undefined
  let stored: string[] = []

  beforeEach(function () {
    skipIfMissing(this, postgresObstacle())
    const mounted = smallDisk(40)
    skipIfMissing(this, typeof mounted === 'string' ? mounted : null)
    if (typeof mounted !== 'string') disk = mounted
    stored = []
  })

  afterEach(async () => {
    await service?.stop()
    await server?.destroy()
    disk?.remove()
    service = undefined
  })

  async function start(url: string): Promise<TestService> {
    service = await startTestService({ ...quickest, ...settingsOf(url) })
    return service
  }

  const settingsOf = (url: string) => ({
    PORTCULLIS_STORES__USERS__KIND: 'postgres',
    PORTCULLIS_STORES__USERS__URL: url,
    PORTCULLIS_SECRET: goodSecret,
  })

  /** The status of a new registration. */
  async function registration({ url }: TestService): Promise<number> {
    const email = `user-${stored.length}-${Math.random()}@example.com`
    const { status, text } = await call(url, 'POST', '/auth/register', { json: { email, password: goodPassword } })
    expect(status, text).to.be.oneOf([201, 503])
    if (status === 201) stored.push(email)
    return status
  }

  const noRoom = 'PostgreSQL cannot write to its disk: make room there'

  /** The cause that the operator reads from a command, which ends with exit code 1. */
  async function whyDown(url: string): Promise<string> {
    const { code, err } = await portcullis(['storage', 'check'], { cwd: scratchFolder(), env: settingsOf(url) })
    expect(code, err).to.equal(1)
    expect(err).to.include(noRoom)
    return err
  }

  const isReady = async ({ url }: TestService) => (await call(url, 'GET', '/readyz')).status === 200

  async function recovers(service: TestService): Promise<void> {
    await eventually('a registration', async () => (await registration(service)) === 201)
    await eventually('all stores', () => isReady(service))
    for (const email of stored) await logIn(service.url, email)
    const told = (email: string) => service.events.some(({ user }) => user.email === email)
    await eventually('every event', () => stored.every(told))
  }

  it('fails the writes that need room, also at the first start, and the service recovers by itself', async () => {
    server = await startPostgres()
    await server.query(`CREATE TABLESPACE small LOCATION '${disk.folder}'`)
    const [unused, url] = [await server.newDatabase('TABLESPACE small'), await server.newDatabase('TABLESPACE small')]
    await postgresContents(url) // the first connection needs room, too
    disk.fill()
    expect(await whyDown(unused), 'at the first connection').to.match(/could not write init file/)
    expect(await whyDown(url), 'while the tables are made').to.match(/No space left on device/)
    expect(await postgresContents(url), 'tables').to.deep.equal({})
    const service = await start(url)
    const { status, body } = await call(service.url, 'GET', '/readyz')
    expect({ status, body }).to.deep.equal({
      status: 503,
      body: {
        detail: 'SERVICE_UNAVAILABLE',
        failing: [{ store: 'postgres', roles: ['users', 'sessions', 'tokens'] }],
      },
    })
    expect(await registration(service)).to.equal(503)
    const { err, ...line } = JSON.parse(service.logLines[0] ?? '')
    expect([line.msg, err.message]).to.deep.equal(['a store is down; trying again each second', noRoom])
    expect(err.cause.message).to.match(/No space left on device/)
    disk.free()
    await eventually('the tables', () => isReady(service))
    expect(await registration(service)).to.equal(201)

    const bearer = await logIn(service.url, stored[0] ?? '')
    disk.fill()
    await eventually('a refusal', async () => (await registration(service)) === 503)
    expect((await call(service.url, 'GET', '/users/me', { bearer })).status, 'a read').to.equal(200)
    disk.free()
    await recovers(service)
  })

  it('with the WAL stops the server, which loses nothing, and the service recovers after its restart', async () => {
    server = await startPostgres(
      ['-c', 'max_wal_size=4MB', '-c', 'min_wal_size=2MB'],
      ['--wal-segsize=1', `--waldir=${disk.folder}`],
    )
    const service = await start(await server.newDatabase())
    for (let count = 0; count < 5; count++) expect(await registration(service)).to.equal(201)
    disk.fill()
    // Another program writes more than the disk takes.
    const fill = `CREATE TABLE other AS SELECT repeat('x', 1000) FROM generate_series(1, 50000)`
    const filling = server.query(fill).then(
      () => 'written',
      () => 'failed',
    )
    await eventually('a refusal', async () => (await registration(service)) === 503)
    expect(await filling).to.equal('failed')
    await eventually('the outage', async () => !(await isReady(service)))
    await server.stop('SIGQUIT')
    disk.free()
    await server.restart()
    await recovers(service)
  })
})
