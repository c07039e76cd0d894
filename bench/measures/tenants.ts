import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { interleaved, ratioFigure } from '../interleaved.ts'
import { latencyAtRate, type Shot, saturate, shoot, statusesAtRate } from '../load.ts'
import { bothCores } from '../machine.ts'
import type { Measure } from '../measure.ts'
import { at, login, meByBearer, meByCookie, people, tenantsByHeader } from '../people.ts'
import { residentMegabytes, type Server, scratchFolder, startRedis, startService } from '../processes.ts'
import { spreadOf } from '../statistics.ts'

const clients = 32
const asksPerSecond = 200
/** The measured tenant uses this share of the hash capacity, so that its own logins never wait for each other. */
const floodedShare = 0.2
const floodFactor = 10
/** Longer than the default, so that on a busy machine only the flood gets 503. */
const maxWaitSeconds = 10

const next = (shots: readonly Shot[]) => (turn: number) => shots[turn % shots.length] ?? { path: '/', headers: {} }

/** POST /auth/jwt/login of one tenant while another tenant sends ten times as many logins as the machine can hash. */
export const loginFlood: Measure = {
  name: 'login-flood',
  async run({ rounds, seconds }, say) {
    const settings = { ...tenantsByHeader({ acme: {}, bolt: {} }), passwords: { maxWaitSeconds } }
    const service = await startService({ settings })
    const { url } = service
    const loginsOf = async (tenant: string): Promise<readonly Shot[]> =>
      (await people(service, clients, { tenant })).map(({ email }) => at(tenant, login(email)))
    const flooding = await loginsOf('acme')
    const flooded = next(await loginsOf('bolt'))
    const most = await saturate({ url, shots: flooding, connections: clients, seconds: 2 * seconds })
    const capacity = most.get(200) ?? 0
    const calm = Math.max(1, Math.round(floodedShare * capacity))
    const perSecond = Math.round(floodFactor * capacity)
    const measure = () => latencyAtRate(url, flooded, { perSecond: calm, seconds: 3 * seconds })
    await measure()
    const answered = new Map<number, number>()
    const measured = await interleaved(rounds, measure, () => {
      const flood = statusesAtRate(url, next(flooding), { perSecond, seconds: 3 * seconds })
      return {
        async end() {
          for (const [status, count] of await flood) answered.set(status, (answered.get(status) ?? 0) + count)
        },
      }
    })
    await service.end()

    const { 200: letIn = 0, 503: refused = 0, ...others } = Object.fromEntries(answered)
    const what = `POST /auth/jwt/login, p99, while ${perSecond}/s log in at another tenant`
    say(ratioFigure(what, measured, 2, `${Math.round(capacity)}/s can be hashed`))
    say({
      what: '  what the other tenant was answered',
      value: `503 to ${((100 * refused) / (letIn + refused)).toFixed(0)} %`,
      beside: `200 to ${letIn}`,
      goal: { text: '503, 200', isMet: refused > letIn && letIn > 0 && Object.keys(others).length === 0 },
    })
  },
}

const goal503Milliseconds = 2000

/** GET /users/me of one tenant while the Redis of another tenant has stopped. */
export const stoppedStore: Measure = {
  name: 'stopped-store',
  async run({ rounds, seconds }, say) {
    const redis = await startRedis(bothCores)
    const acme = { stores: { sessions: { kind: 'redis', url: redis.url } } }
    const service = await startService({ settings: tenantsByHeader({ acme, bolt: {} }) })
    const { url } = service
    const asksOf = async (tenant: string): Promise<readonly Shot[]> =>
      (await people(service, clients, { tenant })).map((person) => at(tenant, meByCookie(person)))
    const stopped = next(await asksOf('acme'))
    const other = next(await asksOf('bolt'))
    const measure = () => latencyAtRate(url, other, { perSecond: asksPerSecond, seconds: 2 * seconds })

    await measure()
    const agent = new Agent({ keepAlive: true })
    let slowest = 0
    let refusals = 0
    const measured = await interleaved(rounds, measure, () => {
      let isOver = false
      process.kill(redis.pid, 'SIGSTOP')
      const asking = Array.from({ length: clients }, async (_, client) => {
        while (!isOver) {
          const began = performance.now()
          const status = await shoot(agent, url, stopped(client))
          if (status !== 503) throw new Error(`without its store, acme answered ${status}`)
          slowest = Math.max(slowest, performance.now() - began)
          refusals += 1
          await delay(100)
        }
      })
      return {
        async end() {
          isOver = true
          await Promise.all(asking)
          process.kill(redis.pid, 'SIGCONT')
          while ((await shoot(agent, url, stopped(0))) !== 200) await delay(50)
        },
      }
    })
    agent.destroy()
    await service.end()
    await redis.end()

    say(
      ratioFigure(
        'GET /users/me, p99, while the Redis of another tenant has stopped',
        measured,
        1.5,
        `${clients} clients wait for it`,
      ),
    )
    say({
      what: '  the slowest answer of the tenant whose Redis it is',
      value: `${(slowest / 1000).toFixed(2)} s`,
      beside: `${refusals} times 503`,
      goal: { text: `≤ ${goal503Milliseconds / 1000} s`, isMet: slowest <= goal503Milliseconds },
    })
  },
}

const count = 200
const maxOpen = 20
const settleMilliseconds = 3000
const goals = { megabytes: 2, coldMilliseconds: 100 }

/** 200 tenants on SQLite in one process: the memory of a tenant, and the cost of opening one for a request. */
export const manyTenants: Measure = {
  name: 'many-tenants',
  async run({ seconds }, say) {
    const ids = Array.from({ length: count }, (_, number) => `tenant-${number}`)
    const dataFolder = scratchFolder()
    const start = (served: readonly string[], open: number) =>
      startService({
        dataFolder,
        settings: tenantsByHeader(Object.fromEntries(served.map((id) => [id, {}])), { maxOpen: open }),
      })

    const first = await start(ids, count)
    const asks = await asksOfEach(first, ids)
    await first.end()

    const residentWith = async (served: number): Promise<number> => {
      const service = await start(ids.slice(0, served), count)
      for (const ask of asks.slice(0, served)) await answered(service, ask)
      // Send the same number of requests in both runs, so that only the tenants differ.
      for (let turn = 0; turn < count; turn++) await answered(service, asks[turn % served])
      await delay(settleMilliseconds)
      const megabytes = residentMegabytes(service.pid)
      await service.end()
      return megabytes
    }
    const withOne = await residentWith(1)
    const withAll = await residentWith(count)
    const each = (withAll - withOne) / (count - 1)
    say({
      what: `resident memory of an open tenant, of ${count} on SQLite`,
      value: `${each.toFixed(2)} MB`,
      beside: `${withAll} MB with ${count} open, ${withOne} MB with one`,
      goal: { text: `≤ ${goals.megabytes} MB`, isMet: each <= goals.megabytes },
    })

    const service = await start(ids, maxOpen)
    await delay(settleMilliseconds)
    const cold: number[] = []
    for (const ask of asks) cold.push(await answered(service, ask))
    const { median, min, max } = spreadOf(cold)
    say({
      what: `first request of a tenant that is not open, ${maxOpen} of ${count} being so`,
      value: `${median.toFixed(1)} ms (${min.toFixed(1)}–${max.toFixed(1)})`,
      goal: { text: `≤ ${goals.coldMilliseconds} ms`, isMet: median <= goals.coldMilliseconds },
    })

    const statuses = await saturate({
      url: service.url,
      shots: mixed(asks),
      connections: clients,
      seconds: 5 * seconds,
    })
    await service.end()
    const failed = [...statuses].flatMap(([status, rate]) => (status === 200 ? [] : [`${rate.toFixed(1)}/s ${status}`]))
    say({
      what: `GET /users/me of ${clients} clients, each at all ${count} tenants in turn`,
      value: `${Math.round(statuses.get(200) ?? 0)}/s`,
      beside: failed.length === 0 ? 'none failed' : `failed: ${failed.join(', ')}`,
      goal: { text: 'none fails', isMet: failed.length === 0 },
    })
  },
}

/** Registers one user in each tenant, eight tenants at a time, and returns the request of each user. */
async function asksOfEach(server: Server, ids: readonly string[]): Promise<readonly Shot[]> {
  const asks: Shot[] = []
  for (let first = 0; first < ids.length; first += 8) {
    const some = ids.slice(first, first + 8).map(async (tenant) => {
      const crowd = await people(server, 1, { tenant })
      return crowd.map((person) => at(tenant, meByBearer(person)))
    })
    asks.push(...(await Promise.all(some)).flat())
  }
  return asks
}

/** The milliseconds of one request on a new connection. Throws if the status is not 200. */
async function answered({ url }: Server, ask: Shot | undefined): Promise<number> {
  if (ask === undefined) throw new Error('nobody asks')
  const agent = new Agent()
  const began = performance.now()
  const status = await shoot(agent, url, ask)
  if (status !== 200) throw new Error(`${ask.path} answered ${status}`)
  return performance.now() - began
}

/** The requests of all clients. Each client visits every tenant, and each starts at another one. */
function mixed(asks: readonly Shot[]): readonly Shot[] {
  const step = Math.floor(asks.length / clients)
  return Array.from({ length: clients }, (_, client) => [
    ...asks.slice(client * step),
    ...asks.slice(0, client * step),
  ]).flat()
}
