import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { type Answer, call, goodPassword, type Sent } from '../support/http/client.ts'
import { figure } from '../support/http/figures.ts'
import { each } from '../support/http/sender.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { startPostgres } from '../support/servers/postgres-server.ts'
import { goodSecret } from '../support/services/settings.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'
import { lease, promisedSeconds } from './lease.ts'

const clients = 6
const changes = 3

/** The clients' own record of a person, which no kill touches. The address is `person-7.2@example.com` after two changes. */
interface Person {
  readonly number: number
  /** The number of acknowledged changes; `-1` before the registration is acknowledged. */
  acknowledged: number
  /** Whether the next change was sent, and got no answer or 503. */
  isUncertain: boolean
  /** Sessions that were begun and not ended, and those that were ended. */
  readonly open: string[]
  readonly ended: string[]
}

const addressOf = (number: number, changed: number): string => `person-${number}.${changed}@example.com`

/**
 * Kills PostgreSQL or the service over and over, while clients register, change their addresses, log in and log out. No
 * acknowledged write and no event may be lost, and each change has its event or did not happen.
 */
export async function killAmidChanges(victim: 'PostgreSQL' | 'the service', times: number): Promise<void> {
  const server = await startPostgres()
  const env = {
    ...quickest,
    ...lease,
    PORTCULLIS_STORES__USERS__KIND: 'postgres',
    PORTCULLIS_STORES__USERS__URL: await server.newDatabase(),
    PORTCULLIS_SECRET: goodSecret,
    PORTCULLIS_LIMITS__ENABLED: 'false',
    PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60',
  }
  const folder = scratchFolder()
  const people: Person[] = []
  let service = await spawnService(env, folder)
  const lives: SpawnedService[] = [service]
  let isOver = false
  let unanswered = 0

  /** `null` for a request that a kill has left without an answer. */
  async function sent(method: string, path: string, what: Sent, expected: number): Promise<Answer | null> {
    const answer = await call(service.url, method, path, what).catch(() => null)
    if (answer?.status === expected) return answer
    if (answer !== null) expect(answer.status, answer.text).to.equal(503)
    unanswered++
    await delay(20)
    return null
  }

  async function live(): Promise<void> {
    const person: Person = { number: people.length, acknowledged: -1, isUncertain: true, open: [], ended: [] }
    people.push(person)
    const credentials = (changed: number) => ({
      form: { username: addressOf(person.number, changed), password: goodPassword },
    })
    const json = { email: addressOf(person.number, 0), password: goodPassword }
    if ((await sent('POST', '/auth/register', { json }, 201)) === null) return
    Object.assign(person, { acknowledged: 0, isUncertain: false })
    const login = await sent('POST', '/auth/jwt/login', credentials(0), 200)
    if (login === null) return
    const bearer = (login.body as { access_token: string }).access_token // safe: 200 carries a token
    for (let change = 1; change <= changes; change++) {
      person.isUncertain = true
      const email = addressOf(person.number, change)
      if ((await sent('PATCH', '/users/me', { bearer, json: { email } }, 200)) === null) return
      Object.assign(person, { acknowledged: change, isUncertain: false })
    }
    for (let login = 0; login < 2; login++) {
      const answer = await sent('POST', '/auth/cookie/login', credentials(changes), 204)
      const cookie = (answer?.headers.get('Set-Cookie') ?? '').split(';')[0]
      if (cookie === undefined || cookie === '') continue
      if (login === 0) person.open.push(cookie)
      else if ((await sent('POST', '/auth/cookie/logout', { cookie }, 204)) !== null) person.ended.push(cookie)
    }
  }

  const acknowledged = () => people.reduce((sum, one) => sum + one.acknowledged + 1 + one.open.length, 0)
  const load = Promise.all(
    Array.from({ length: clients }, async () => {
      while (!isOver) await live()
    }),
  )
  for (let kill = 0; kill < times; kill++) {
    const before = acknowledged()
    await eventually('acknowledged writes', () => acknowledged() > before + 3 * clients)
    await delay(Math.random() * 250)
    if (victim === 'PostgreSQL') {
      await server.stop('SIGKILL')
      await server.restart()
    } else {
      expect(await service.end('SIGKILL')).to.equal('SIGKILL')
      service = await spawnService(env, folder)
      lives.push(service)
    }
  }
  const last = acknowledged()
  await eventually('writes after the last kill', () => acknowledged() > last + clients)
  isOver = true
  await load
  await eventually('the store', async () => (await call(service.url, 'GET', '/readyz')).status === 200)

  const written = new Map<number, number>()
  await each(people.length, clients, async (at) => {
    const person = people[at] ?? expect.fail()
    const stored = await changesOf(service.url, person)
    expect(stored).to.be.oneOf([person.acknowledged, ...(person.isUncertain ? [person.acknowledged + 1] : [])])
    written.set(person.number, stored)
    const statusOf = async (cookie: string) => (await call(service.url, 'GET', '/users/me', { cookie })).status
    for (const cookie of person.open) expect(await statusOf(cookie), 'a session').to.equal(200)
    for (const cookie of person.ended) expect(await statusOf(cookie), 'a session that was ended').to.equal(401)
  })

  const total = [...written.values()].reduce((sum, changed) => sum + changed + 1, 0)
  const told = () => eventsOf(lives)
  await eventually('every event', () => distinct(told()) >= total, promisedSeconds)
  for (const [number, numbers] of told()) {
    const changed = written.get(number) ?? -1
    expect([...new Set(numbers)], `the events of ${number}`).to.deep.equal(
      Array.from({ length: changed + 1 }, (_, at) => at),
    )
    expect(numbers, 'their order').to.deep.equal([...numbers].sort((one, other) => one - other))
  }
  const deliveries = [...told().values()].flat().length
  figure(`kills of ${victim}`, {
    kills: times,
    people: people.length,
    acknowledged: acknowledged(),
    unanswered,
    events: total,
    repeated: deliveries - total,
  })
  expect(await service.end('SIGTERM')).to.equal(0)
  await server.destroy()
}

/** The number of changes that the stored address has; `-1` for nobody. */
async function changesOf(url: string, { number, acknowledged }: Person): Promise<number> {
  for (const changed of [acknowledged, acknowledged + 1]) {
    if (changed < 0) continue
    const form = { username: addressOf(number, changed), password: goodPassword }
    if ((await call(url, 'POST', '/auth/jwt/login', { form })).status === 200) return changed
  }
  return -1
}

/** The changes of each person in the order of their events. */
function eventsOf(lives: readonly SpawnedService[]): Map<number, number[]> {
  const all = new Map<number, number[]>()
  for (const { event, user } of lives.flatMap(({ events }) => events)) {
    const [, number, changed] = /^person-(\d+)\.(\d+)@/.exec(user.email) ?? []
    if (event !== 'on_after_register' && event !== 'on_after_update') continue
    all.set(Number(number), [...(all.get(Number(number)) ?? []), Number(changed)])
  }
  return all
}

const distinct = (events: Map<number, number[]>): number =>
  [...events.values()].reduce((sum, numbers) => sum + new Set(numbers).size, 0)
