import { expect } from 'chai'
import pg from 'pg'
import { eventually } from '../../support/eventually.ts'
import { goodPassword, logInByCookie, register } from '../../support/http/client.ts'
import { sender } from '../../support/http/sender.ts'
import { nextRelease } from '../../support/project/next-release.ts'
import { quickest } from '../../support/scenes/quickest.ts'
import { needsDeployment, onPostgres } from '../../support/services/deployments.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../../support/services/spawned-service.ts'

/** Sends requests that read and write the users of both releases, until `end`, and returns their statuses. */
function load(email: string, cookie: string) {
  const senders: ReturnType<typeof sender>[] = []
  const runs: Promise<void>[] = []
  const statuses: number[] = []
  let isOver = false

  async function run(send: () => Promise<{ status: number }>): Promise<void> {
    while (!isOver) statuses.push((await send()).status)
  }

  return {
    /** The number of answers. */
    count: () => statuses.length,
    on({ url }: SpawnedService): void {
      const to = sender(url, 3)
      senders.push(to)
      const read = () => to.get('/users/me', { cookie })
      const write = () => to.postForm('/auth/jwt/login', { username: email, password: goodPassword })
      runs.push(...[read, read, write].map(run))
    },
    async end(): Promise<ReadonlySet<number>> {
      isOver = true
      await Promise.all(runs)
      for (const to of senders) to.close()
      return new Set(statuses)
    },
  }
}

describe('an additive migration of PostgreSQL under load', () => {
  before(async function () {
    await needsDeployment(this, onPostgres)
  })

  it('waits for a table without holding up others, and no request of both releases fails', async () => {
    const stores = await onPostgres.settings()
    const settings = { ...stores, ...quickest }
    const folder = scratchFolder()
    const older = await spawnService(settings, folder)
    await register(older.url, 'ada@example.com')
    const cookie = await logInByCookie(older.url, 'ada@example.com')
    const requests = load('ada@example.com', cookie)
    requests.on(older)

    // As pg_dump does.
    const dump = new pg.Client(stores.PORTCULLIS_STORES__USERS__URL)
    const watcher = new pg.Client(stores.PORTCULLIS_STORES__USERS__URL)
    await Promise.all([dump.connect(), watcher.connect()])
    await dump.query('BEGIN; SELECT 1 FROM portcullis.user_private')
    const starting = spawnService(settings, folder, [], nextRelease())
    for (let seen = 0; seen < 5; seen++) {
      const waiting = `SELECT 1 FROM pg_locks
        WHERE relation = 'portcullis.user_private'::regclass AND locktype = 'relation' AND NOT granted`
      await eventually('a migration that waits', async () => (await watcher.query(waiting)).rowCount !== 0)
      await watcher.query('SELECT 1 FROM portcullis.user_private LIMIT 1') // waits behind it
    }
    await dump.query('COMMIT')
    const newer = await starting
    requests.on(newer)
    const answers = requests.count()
    await eventually('answers of both', () => requests.count() > answers + 100)
    const columns = `SELECT 1 FROM information_schema.columns WHERE column_name = 'nickname'`
    expect((await watcher.query(columns)).rowCount).to.equal(1)
    expect(await requests.end()).to.deep.equal(new Set([200]))

    await Promise.all([dump.end(), watcher.end()])
    for (const one of [older, newer]) expect(await one.end('SIGTERM')).to.equal(0)
    await onPostgres.remove(stores)
  })
})
