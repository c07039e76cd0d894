// Answer times while the rows of another tenant are locked, compared with quiet phases of the same run.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, type Sent, untilAvailable } from '../support/http/client.ts'
import { isDescribedAt } from '../support/http/described.ts'
import { figure } from '../support/http/figures.ts'
import { each, sender, type Timed } from '../support/http/sender.ts'
import { median, quantile } from '../support/http/statistics.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { skipIfMissing } from '../support/servers/obstacles.ts'
import { type PostgresServer, postgresObstacle, startPostgres } from '../support/servers/postgres-server.ts'
import { goodSecret } from '../support/services/settings.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'

const count = 300
const phaseSeconds = 10
const clients = 16
const pauseMs = 20
/** More than the pool has connections. */
const clientsOfLocked = 30

interface Member {
  readonly path: string
  readonly username: string
  readonly cookie: string
  readonly bearer: string
}

describe('a PostgreSQL with 300 tenants in schemas', function () {
  this.timeout(1_200_000)
  let server: PostgresServer
  let url: string
  let service: SpawnedService
  let locked: Member
  let others: readonly Member[]
  let changes = 0

  before(async function () {
    skipIfMissing(this, postgresObstacle())
    server = await startPostgres()
    url = await server.newDatabase()
    const folder = scratchFolder()
    const list = Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, {}]))
    const settings = { tenants: { by: 'path', idleSeconds: 3_600, list } }
    await writeFile(join(folder, 'portcullis.config.json'), JSON.stringify(settings))
    const env = {
      ...quickest,
      PORTCULLIS_STORES__USERS__KIND: 'postgres',
      PORTCULLIS_STORES__USERS__URL: url,
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60',
    }
    service = await spawnService(env, folder)
    locked = await member(0)
    const withOne = await residentMegabytes()
    const began = performance.now()
    others = await each(count - 1, 4, (at) => member(at + 1))
    const seconds = (performance.now() - began) / 1000
    figure(`${count} tenants`, { seconds, 'MB with one': withOne, 'MB with all': await residentMegabytes() })
  })

  after(async () => {
    expect(await service?.end('SIGTERM')).to.equal(0)
    await server?.destroy()
  })

  async function residentMegabytes(): Promise<number> {
    const status = await readFile(`/proc/${service.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
  }

  async function member(at: number): Promise<Member> {
    const path = `/t/t${at}`
    const own = `${service.url}${path}`
    isDescribedAt(own, service.url)
    const username = `member-${at}@example.com`
    const post = (to: string, sent: Sent) => untilAvailable(() => call(own, 'POST', to, sent))
    const form = { username, password: goodPassword }
    // On a busy machine a registration with 503 may have happened.
    const registered = await post('/auth/register', { json: { email: username, password: goodPassword } })
    expect(registered.status, registered.text).to.be.oneOf([201, 400])
    const [cookie = ''] = ((await post('/auth/cookie/login', { form })).headers.get('Set-Cookie') ?? '').split(';')
    const { body } = await post('/auth/jwt/login', { form })
    return { path, username, cookie, bearer: (body as { access_token: string }).access_token } // safe: 200 carries a token
  }

  /** Resolves to the p99 of the other tenants, in ms. */
  async function phase(name: string): Promise<number> {
    const crowd = sender(service.url, clients)
    const crowdOfLocked = sender(service.url, clientsOfLocked)
    const answers: Timed[] = []
    const failures: string[] = []
    const ofLocked: Timed[] = []
    let turn = 0
    let isOver = false

    function ask({ path, username, cookie, bearer }: Member, at: number): Promise<Timed> {
      if (at % 10 === 0) {
        return crowd.postForm(`${path}/auth/cookie/login`, { username, password: goodPassword })
      }
      if (at % 10 === 1) {
        const json = { email: at % 20 === 1 ? username.toUpperCase() : username }
        return crowd.patchJson(`${path}/users/me`, json, { Authorization: `Bearer ${bearer}` })
      }
      return crowd.get(`${path}/users/me`, at % 2 === 0 ? { Cookie: cookie } : { Authorization: `Bearer ${bearer}` })
    }

    async function client(): Promise<void> {
      for (; !isOver; await delay(pauseMs)) {
        const at = turn++
        const other = others[at % others.length] ?? expect.fail()
        const answer = await ask(other, at)
        answers.push(answer)
        if (answer.status !== 200 && answer.status !== 204)
          failures.push(`${answer.status} of ${other.path}, turn ${at}`)
      }
    }

    async function clientOfLocked(): Promise<void> {
      for (; !isOver; await delay(pauseMs)) {
        const json = { email: `changed-${changes++}@example.com` }
        const headers = { Authorization: `Bearer ${locked.bearer}` }
        ofLocked.push(await crowdOfLocked.patchJson(`${locked.path}/users/me`, json, headers))
      }
    }

    const asking = [
      ...Array.from({ length: clients }, client),
      ...Array.from({ length: clientsOfLocked }, clientOfLocked),
    ]
    await delay(phaseSeconds * 1000)
    isOver = true
    await Promise.all(asking)
    crowd.close()
    crowdOfLocked.close()

    const times = (timed: readonly Timed[]) => timed.map(({ milliseconds }) => milliseconds)
    const p99 = quantile(times(answers), 0.99)
    figure(name, {
      requests: answers.length,
      failed: failures.length,
      'median ms': median(times(answers)),
      'p99 ms': p99,
      'slowest ms': Math.max(...times(answers)),
      'of the locked tenant': ofLocked.length,
      'of these 503': ofLocked.filter(({ status }) => status === 503).length,
      'slowest of these, ms': Math.max(...times(ofLocked)),
      'MB of the service': await residentMegabytes(),
    })
    expect(failures).to.deep.equal([])
    expect([200, 503]).to.include.members(ofLocked.map(({ status }) => status))
    return p99
  }

  async function expectNoDelay(name: string, lock: string): Promise<void> {
    const quiet = await phase('nothing locked')
    const locker = new pg.Client(url)
    await locker.connect()
    await locker.query(`BEGIN; ${lock}`)
    expect(await phase(name).finally(() => locker.end())).to.be.below(4 * quiet)
    const json = { email: locked.username }
    await eventually('the tenant', async () => {
      const { status } = await call(`${service.url}${locked.path}`, 'PATCH', '/users/me', {
        json,
        bearer: locked.bearer,
      })
      return status === 200
    })
  }

  const tables = ['users', 'user_private', 'sessions'].map((table) => `portcullis_t0.${table}`)

  it('fails and delays no request of a tenant while the rows of another one are locked', () =>
    expectNoDelay('rows locked', tables.map((table) => `SELECT FROM ${table} FOR UPDATE`).join(';')))

  it('fails and delays no request of a tenant while the tables of another one are locked', () =>
    expectNoDelay('tables locked', `LOCK TABLE ${tables}`))
})
