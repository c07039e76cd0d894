import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { scratchModule } from '../adapters/events/scratch-module.ts'
import { eventually } from '../support/eventually.ts'
import { call } from '../support/http/client.ts'
import { figure } from '../support/http/figures.ts'
import { each } from '../support/http/sender.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { superuserToken } from '../support/scenes/superuser.ts'
import type { Deployment } from '../support/services/deployments.ts'
import {
  type Spawned,
  type SpawnedService,
  scratchFolder,
  spawnService,
  spawnWorker,
} from '../support/services/spawned-service.ts'

export interface Sizes {
  readonly workers: number
  readonly users: number
  /** The registration is the first of them. */
  readonly eventsPerUser: number
  readonly kills: number
  readonly secondsBetweenKills: number
  readonly leaseSeconds: number
}

/** One delivery, as the handler writes it down. */
interface Note {
  readonly eventId: string
  readonly userId: string
  /** How many events of the user came before. */
  readonly number: number
  readonly pid: number
}

/** Each change renews the address: `person-7.12@example.com` is the 13th event of its user. */
const address = (person: number, number: number): string => `person-${person}.${number}@example.com`

/** All workers append to one file, so its lines are in the order of the deliveries. */
const writingDown = `
  const write = (user, { eventId }) => {
    const number = /^person-[0-9]+[.]([0-9]+)@/.exec(user.email)?.[1]
    if (number !== undefined) note({ eventId, userId: user.id, number: Number(number), pid: process.pid })
  }
  export const on_after_register = write
  export const on_after_update = (user, changes, context) => write(user, context)`

const serviceCount = 2
const writers = 16
const mostInHand = 16

/**
 * Services write events and deliver none. Workers deliver them, and one worker after the other is killed and replaced.
 * Returns the share of deliveries that were repetitions.
 */
export async function killWorkersAmidDeliveries(deployment: Deployment, sizes: Sizes): Promise<number> {
  const { users, eventsPerUser, kills, secondsBetweenKills, leaseSeconds } = sizes
  const total = users * eventsPerUser
  const settings = await deployment.settings()
  const module = scratchModule(writingDown)
  const notes = () => module.notes() as Note[] // safe: the module above writes nothing else
  const env = {
    ...settings,
    PORTCULLIS_EVENTS__RELAY: 'off',
    PORTCULLIS_EVENTS__LEASE_SECONDS: `${leaseSeconds}`,
    PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url),
  }
  const folder = scratchFolder()
  const start = <T>(count: number, one: () => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, () => one()))
  const [services, working] = await Promise.all([
    start(serviceCount, () => spawnService(env, folder)),
    start(sizes.workers, () => spawnWorker(env, folder)),
  ])
  const everWorked = [...working]

  const began = performance.now()
  const paceSeconds = kills * secondsBetweenKills
  const written = write(services, { env, dataFolder: `${folder}/data`, users, eventsPerUser, paceSeconds })
  for (let kill = 0; kill < kills; kill += 1) {
    if (kills === 1) await eventually('deliveries to be under way', () => notes().length > total / 4)
    else await delay(began + (kill + 1) * secondsBetweenKills * 1000 - performance.now())
    // A single kill hits a worker that delivers, so that the others have to take over its events.
    const lastToDeliver = working.findIndex(({ pid }) => pid === notes().at(-1)?.pid)
    const [victim] = working.splice(kills === 1 ? Math.max(0, lastToDeliver) : 0, 1)
    expect(await victim?.end('SIGKILL')).to.equal('SIGKILL')
    const next = await spawnWorker(env, folder)
    working.push(next)
    everWorked.push(next)
  }
  const lastKill = performance.now()
  await written
  await eventually('all deliveries', () => distinct(notes()) >= total, leaseSeconds + 60)
  const complete = performance.now()

  expectInOrder(notes(), total, eventsPerUser)
  const pids = new Set(notes().map(({ pid }) => pid))
  expect(everWorked.map(({ pid }) => pid)).to.include.members([...pids])
  expect(pids.size, 'workers that delivered').to.be.above(1)
  const ends = await Promise.all([...working, ...services].map((one) => one.end('SIGTERM')))
  expect(new Set(ends)).to.deep.equal(new Set([0]))
  expect([...everWorked, ...services].flatMap(faults)).to.deep.equal([])

  const repeated = notes().length - total
  expect(repeated, 'repetitions').to.be.at.most(kills * mostInHand)
  figure(`${sizes.workers} workers on ${deployment.name}`, {
    events: total,
    kills,
    repeated,
    seconds: (complete - began) / 1000,
    secondsAfterLastKill: (complete - lastKill) / 1000,
  })
  module.remove()
  await deployment.remove(settings)
  return repeated / total
}

interface Writing {
  readonly env: Readonly<Record<string, string>>
  readonly dataFolder: string
  readonly users: number
  readonly eventsPerUser: number
  /** Changes are spread over so many seconds. */
  readonly paceSeconds: number
}

/** Sends a user's changes one after the other without a pause, so that several events of the user wait at a time. */
async function write(services: readonly SpawnedService[], writing: Writing): Promise<void> {
  const { env, dataFolder, users, eventsPerUser, paceSeconds } = writing
  const url = (at: number): string => services[at % services.length]?.url ?? ''
  const bearer = await superuserToken(url(0), env, dataFolder)
  const addresses = Array.from({ length: users }, (_, person) => address(person, 0))
  const people = await enrol(env, dataFolder, addresses)
  const began = performance.now()
  await each(people.length, writers, async (person) => {
    await delay(began + (person / users) * paceSeconds * 1000 - performance.now())
    for (let number = 1; number < eventsPerUser; number += 1) {
      const json = { email: address(person, number) }
      for (let status = 503; status !== 200; ) {
        const answer = await call(url(person + number), 'PATCH', `/users/${people[person]?.id}`, { json, bearer })
        // A store that answers too late on a busy machine may have done it; repeated, it changes nothing.
        expect(answer.status, answer.text).to.be.oneOf([200, 503])
        status = answer.status
      }
    }
  })
}

const distinct = (notes: readonly Note[]): number => new Set(notes.map(({ eventId }) => eventId)).size

/** Each event of each user was delivered, and none after a later one, not even a repetition. */
function expectInOrder(notes: readonly Note[], total: number, eventsPerUser: number): void {
  expect(distinct(notes), 'events that were delivered').to.equal(total)
  const byUser = new Map<string, number[]>()
  for (const { userId, number } of notes) byUser.set(userId, [...(byUser.get(userId) ?? []), number])
  const all = Array.from({ length: eventsPerUser }, (_, number) => number)
  for (const numbers of byUser.values()) {
    const inOrder = numbers.every((number, at) => at === 0 || number >= (numbers[at - 1] ?? 0))
    expect(inOrder, `the events of a user came as ${numbers}`).to.equal(true)
    expect([...new Set(numbers)]).to.deep.equal(all)
  }
}

/** Lines of the log that not even a busy machine explains. */
function faults({ errors }: Spawned): string[] {
  return errors.filter((line) => /"level":60|SQLITE_BUSY/.test(line))
}
