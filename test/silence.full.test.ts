// A request for a token does not show whether its address has an account, neither by the answer nor by the records in
// the store (OWASP Forgot Password cheat sheet; ASVS 6.3.8). answer-times.long.test.ts looks at times.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { maxWaitingRequests } from '../src/application/ports/stores/token-requests.ts'
import { eventually } from './support/eventually.ts'
import { call, register } from './support/http/client.ts'
import { figure } from './support/http/figures.ts'
import { each, sender } from './support/http/sender.ts'
import { exchangeUntilClosed, jsonPost } from './support/http/sockets.ts'
import { inTime } from './support/in-time.ts'
import { isLong, rounds } from './support/mocha/long.ts'
import { type People, settle } from './support/scenes/people.ts'
import { type Deployment, needsDeployment, onMongo, onPostgres, onSqlite } from './support/services/deployments.ts'
import { startTestService, type TestService } from './support/services/service.ts'
import { type SpawnedService, scratchFolder, spawnService } from './support/services/spawned-service.ts'
import {
  type Contents,
  folderBytes,
  inMongo,
  inPostgresDatabase,
  inSqlite,
  mongoContents,
  postgresContents,
  type Row,
  sqliteContents,
} from './support/stores/store-contents.ts'

/** A store in which requests for tokens wait, seen from behind. */
interface Behind {
  readonly env: Readonly<Record<string, string>>
  readonly dataFolder: string
  contents(): Promise<Contents>
  /** Every byte of the store that a thief could read. */
  bytes(): Promise<Buffer>
  waiting(): Promise<number>
  /** Makes copies of a waiting request, under ids of their own, until the queue is full. */
  fill(): Promise<void>
  close(): Promise<void>
}

const stores: readonly [Deployment, () => Promise<Behind>][] = [
  [onSqlite, behindSqlite],
  [onMongo, behindMongo],
  [onPostgres, behindPostgres],
]
const routes = ['/auth/forgot-password', '/auth/request-verify-token'] as const
const kinds = ['unverified', 'verified', 'inactive', 'unknown'] as const

for (const [deployment, open] of stores) {
  const { name } = deployment

  describe(`a request for a token, with users in ${name}`, () => {
    let behind: Behind
    let service: TestService
    let people: People

    before(async function () {
      await needsDeployment(this, deployment)
      behind = await open()
      people = await settle(behind.env, behind.dataFolder, 1)
      // The clock runs backwards from before 1970, so no request is ever due.
      let now = -86_400_000
      const clock = () => new Date(now--)
      service = await startTestService(behind.env, { dataFolder: behind.dataFolder, clock })
    })

    after(async () => {
      await service?.stop()
      await behind?.close()
    })

    const answers = async (route: string): Promise<string[]> => {
      const sent = kinds.map((kind) => exchangeUntilClosed(service.url, jsonPost(route, { email: people[kind][0] })))
      return (await Promise.all(sent)).map(withoutChance)
    }

    for (const route of routes) {
      it(`stores one record of the same form for every address, at ${route}`, async () => {
        const forms: unknown[] = []
        const counted: string[][] = []
        for (const kind of kinds) {
          const before = await behind.contents()
          const answer = await call(service.url, 'POST', route, { json: { email: people[kind][0] } })
          const after = await behind.contents()
          expect(answer.status).to.equal(202)
          const { token_requests: waited = [], limits: counters = [], ...othersBefore } = before
          const { token_requests: waiting = [], limits: countersAfter = [], ...othersAfter } = after
          expect(othersAfter, `other tables after asking for ${kind}`).to.deep.equal(othersBefore)
          const added = addedTo(waited, waiting)
          expect([added.length, waiting.length]).to.deep.equal([1, waited.length + 1])
          forms.push(...added.map(formOf))
          const newCounters = addedTo(counters, countersAfter).map((row) => JSON.stringify(formOf(row)))
          counted.push(newCounters.sort()) // MongoDB lists them in any order; SQLite has them in another file
        }
        for (const one of counted) expect(one).to.deep.equal(counted[0])
        expect(new Set(forms.map((form) => JSON.stringify(form))).size, JSON.stringify(forms)).to.equal(1)
      })

      it(`gets an answer of the same bytes for every address, at ${route}`, async () => {
        const [first = '', ...others] = await answers(route)
        expect(first)
          .to.match(/^HTTP\/1\.1 202 Accepted\r\n/)
          .and.match(/\r\nContent-Length: 0\r\n/)
        for (const other of others) expect(other).to.equal(first)
      })
    }

    it('gets the same refusal for every address when too many requests wait', async () => {
      await behind.fill()
      for (const route of routes) {
        const [first = '', ...others] = await answers(route)
        expect(first)
          .to.match(/^HTTP\/1\.1 503 /)
          .and.match(/\r\nRetry-After: \d+\r\n/)
        for (const other of others) expect(other).to.equal(first)
      }
      const stranger = await call(service.url, 'POST', routes[0], { json: { email: 'never-asked@example.com' } })
      expect(stranger.status).to.equal(503)
      expect(await behind.waiting()).to.equal(maxWaitingRequests)
    })
  })

  describe(`a flood of requests for tokens of made-up addresses, with users in ${name}`, function () {
    if (isLong) this.timeout(600_000)
    const count = name === 'SQLite' ? rounds(2_000, 50_000) : rounds(500, 10_000)
    let behind: Behind
    let service: SpawnedService

    before(async function () {
      await needsDeployment(this, deployment)
      behind = await open()
      service = await spawnService({ ...behind.env, PORTCULLIS_DATA_FOLDER: behind.dataFolder })
    })

    after(async () => {
      await service?.end('SIGTERM')
      await behind?.close()
    })

    it(`exceeds no bound, delays no event, and stores no readable address (${count} requests)`, async () => {
      const flood = sender(service.url, 16)
      const idle = residentMegabytes(service.pid)
      const lengths: number[] = []
      const megabytes: number[] = []
      const readable: string[] = []
      const peak = () => Math.max(...megabytes)
      let isOver = false

      async function watch(): Promise<void> {
        while (!isOver) {
          lengths.push(await behind.waiting())
          megabytes.push(residentMegabytes(service.pid))
          if (lengths.length % 10 === 5) readable.push(...strangersIn(await behind.bytes()))
          await delay(50)
        }
      }
      const watching = watch()
      const arrivals = registrations(service, 5)
      const asked = await each(count, 16, (index) =>
        flood.postJson(routes[index % 2] ?? '', { email: stranger(index) }),
      )
      isOver = true
      await watching
      flood.close()

      const taken = asked.filter(({ status }) => status === 202).length
      const refused = asked.filter(({ status, retryAfter }) => status === 503 && retryAfter !== undefined).length
      expect(taken + refused).to.equal(count)
      expect(Math.max(...lengths), 'waiting requests').to.be.at.most(maxWaitingRequests)
      expect(Math.max(...(await arrivals)), 'seconds from 201 to on_after_register').to.be.below(inTime / 1000)
      if (process.platform === 'linux') expect(peak() - idle, 'megabytes above idle').to.be.below(250)
      readable.push(...strangersIn(await behind.bytes()), ...strangersIn(Buffer.from(service.errors.join('\n'))))
      expect(readable).to.deep.equal([])
      const slowest = Math.max(...(await arrivals))
      figure(`${count} requests`, { taken, refused, longest: Math.max(...lengths), slowest, idle, peak: peak() })
    })

    it('has no effect after its last request is settled', async () => {
      while ((await behind.waiting()) > 0) await delay(50)
    })
  })
}

const stranger = (index: number): string => `stranger-${index}@elsewhere.example`

/** The parts of the addresses of `stranger` that can be read there. */
function strangersIn(bytes: Buffer): string[] {
  return ['stranger-', 'elsewhere.example', 'STRANGER-'].filter((text) => bytes.includes(text))
}

/** Registers one person after another; answers how many seconds each on_after_register took to arrive. */
async function registrations(service: SpawnedService, count: number): Promise<number[]> {
  const seconds: number[] = []
  for (let index = 0; index < count; index++) {
    const { email } = await register(service.url, `newcomer-${index}@example.com`)
    const began = performance.now()
    await eventually('on_after_register', () =>
      service.events.some(({ event, user }) => event === 'on_after_register' && user.email === email),
    )
    seconds.push((performance.now() - began) / 1000)
  }
  return seconds
}

/** Answers as they would be at the same moment and under the same request id. */
function withoutChance(answer: string): string {
  return answer.replace(/(?<=\r\nDate: )[^\r]*/, '…').replace(/(?<=\r\nX-Request-Id: )[0-9a-f-]{36}(?=\r)/, '…')
}

function addedTo(before: readonly Row[], after: readonly Row[]): readonly Row[] {
  const known = new Set(before.map((row) => JSON.stringify(row)))
  return after.filter((row) => !known.has(JSON.stringify(row)))
}

/** Names, types and lengths of what a row holds. */
function formOf(row: Row): object {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' ? `text of ${value.length}` : value instanceof Date ? 'date' : typeof value,
    ]),
  )
}

/** Of a process, as Linux knows it. */
function residentMegabytes(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) / 1024
}

async function behindSqlite(): Promise<Behind> {
  const dataFolder = join(scratchFolder(), 'data')
  const waiting = () =>
    inSqlite(dataFolder, (db) => db.prepare<[], number>('SELECT count(*) FROM token_requests').pluck().get() ?? 0)
  return {
    env: {},
    dataFolder,
    contents: async () => sqliteContents(dataFolder),
    bytes: async () => folderBytes(dataFolder),
    waiting: async () => waiting(),
    async fill() {
      inSqlite(dataFolder, (db) =>
        db
          .prepare(
            `INSERT INTO token_requests (id, event_id, purpose, sealed_email, request_id, languages, asked_at, ready_at)
             WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < ?)
             SELECT id || n, event_id || n, purpose, sealed_email, request_id, languages, asked_at, ready_at
             FROM (SELECT * FROM token_requests LIMIT 1), copies`,
          )
          .run(maxWaitingRequests - waiting()),
      )
    },
    async close() {},
  }
}

async function behindMongo(): Promise<Behind> {
  const env = await onMongo.settings()
  const url = env.PORTCULLIS_STORES__USERS__URL ?? ''
  const contents = () => mongoContents(url)
  const waiting = () => inMongo(url, (db) => db.collection('token_requests').countDocuments())
  return {
    env,
    dataFolder: join(scratchFolder(), 'data'),
    contents,
    bytes: async () => Buffer.from(JSON.stringify(await contents())),
    waiting,
    fill: () =>
      inMongo(url, async (db) => {
        const requests = db.collection<{ _id: string }>('token_requests')
        const { _id, ...sample } = (await requests.findOne()) ?? { _id: '' }
        const copies = Array.from({ length: maxWaitingRequests - (await waiting()) }, () => ({
          ...sample,
          _id: randomUUID(),
          eventId: randomUUID(),
        }))
        await requests.insertMany(copies)
      }),
    close: () => onMongo.remove(env),
  }
}

async function behindPostgres(): Promise<Behind> {
  const env = await onPostgres.settings()
  const url = env.PORTCULLIS_STORES__USERS__URL ?? ''
  const contents = () => postgresContents(url)
  const copied = 'purpose, sealed_email, request_id, languages, asked_at, ready_at'
  const waiting = () =>
    inPostgresDatabase(url, async (client) => {
      const { rows } = await client.query('SELECT count(*)::int AS count FROM portcullis.token_requests')
      return rows[0].count
    })
  return {
    env,
    dataFolder: join(scratchFolder(), 'data'),
    contents,
    bytes: async () => Buffer.from(JSON.stringify(await contents())),
    waiting,
    fill: () =>
      inPostgresDatabase(url, async (client) => {
        const copies = `INSERT INTO portcullis.token_requests (id, event_id, ${copied})
          SELECT id || n, event_id || n, ${copied}
          FROM (SELECT * FROM portcullis.token_requests LIMIT 1) AS one, generate_series(1, $1) AS n`
        await client.query(copies, [maxWaitingRequests - (await waiting())])
      }),
    close: () => onPostgres.remove(env),
  }
}
