import { jwtCredentials } from '../../src/adapters/credentials/jwt.ts'
import { derivedKeys } from '../../src/adapters/crypto/derived-keys.ts'
import { newId } from '../../src/adapters/crypto/new-id.ts'
import { passwordHasher } from '../../src/config/composition/shared-resources.ts'
import type { UserId } from '../../src/domain/ids.ts'
import type { Crowd, Crowds } from '../crowds/crowd.ts'
import { postgresCrowds } from '../crowds/postgres.ts'
import { sqliteCrowds } from '../crowds/sqlite.ts'
import { only, type Shot, saturate } from '../load.ts'
import { bothCores, loadCore, moveTo, serverCore } from '../machine.ts'
import type { Figure, Measure } from '../measure.ts'
import { login, password, registration } from '../people.ts'
import {
  longHashQueue,
  residentMegabytes,
  type StartedService,
  secret,
  sharedMegabytes,
  startService,
} from '../processes.ts'
import { spreadOf } from '../statistics.ts'

const sizes = { few: 10_000, many: 1_000_000 }
const goal = 1.3
const connections = 32
/** For requests with a password hash, which take as long as a hundred others. */
const hashing = { connections: 8, lengthening: 3 }
/** More users than a small cache of verified tokens holds, beside a few. */
const signedIn = { few: 64, many: 100_000 }
const warmUpSeconds = 4

/** Requests among a million users, compared with the same requests among ten thousand. */
export const millionUsers: Measure = { name: 'million-users', run: comparing(sqliteCrowds) }
export const postgresMillionUsers: Measure = { name: 'postgres-million-users', run: comparing(postgresCrowds) }

function comparing(open: () => Promise<Crowds>): Measure['run'] {
  return async ({ rounds, seconds }, say) => {
    const hash = await passwordHasher().hash(password)
    moveTo(loadCore)
    const crowds = await open()
    const few = await crowds.create(sizes.few, hash)
    const many = await crowds.create(sizes.many, hash)
    const services = [await served(few, signedIn.few), await served(many, signedIn.many)] as const
    const figure = async (what: string, measure: (at: 0 | 1) => Promise<number>) =>
      say(await compared(`${what}, of 1 000 000 users${crowds.suffix}`, rounds, measure))
    for (const service of services) await firstUses(service)
    for (const { what, status, shot, hashes } of kinds) {
      const load = hashes ? hashing : { connections, lengthening: 1 }
      const microseconds = async (service: Served, length: number): Promise<number> => {
        const sent = { url: service.url, shots: shot(service), connections: load.connections }
        return 1e6 / only(status, await saturate({ ...sent, seconds: load.lengthening * length }))
      }
      for (const service of services) await microseconds(service, warmUpSeconds)
      await figure(what, (at) => microseconds(services[at], seconds))
    }
    say({
      what: '  resident memory after these requests',
      value: `${residentMegabytes(services[1].pid)} MB`,
      beside: `10 000 users: ${residentMegabytes(services[0].pid)} MB`,
    })
    const pids = crowds.serverProcesses()
    if (pids.length > 0) say({ what: '  memory of the server, for both', value: `${sharedMegabytes(pids)} MB` })
    for (const service of services) await service.end()
    moveTo(bothCores)
    const readers = [await reader(few, crowds), await reader(many, crowds)] as const
    for (const { read } of readers) for (let round = 0; round < 10; round++) await read()
    await figure('a random read of the store alone', (at) => readers[at].read())
    for (const { close } of readers) await close()
    await crowds.end()
  }
}

interface Served extends StartedService {
  readonly crowd: Crowd
  readonly bearers: readonly string[]
  readonly ofSuperuser: string
}

async function served(crowd: Crowd, signedIn: number): Promise<Served> {
  const { start, ids, superuser } = crowd
  const env = { ...longHashQueue, PORTCULLIS_LIMITS__ENABLED: 'false', ...start.env }
  const service = await startService({ ...start, cores: serverCore, env })
  const { issue } = jwtCredentials({
    key: derivedKeys(secret).jwtKey,
    audience: 'portcullis:auth',
    tenant: 'default',
    lifetimeSeconds: 3600,
    expiringMarks: {
      add: async () => undefined,
      claim: async () => true,
      has: async () => false,
      list: async () => ({ items: [], next: null }),
      sweep: async () => 0,
    },
    clock: () => new Date(),
    newId,
  })
  const bearerOf = async (id: UserId) => (await issue({ ...superuser, id }, { at: new Date(), methods: ['pwd'] })).value
  const bearers = await Promise.all(Array.from({ length: signedIn }, () => bearerOf(anyOf(ids))))
  return { ...service, crowd, bearers, ofSuperuser: await bearerOf(superuser.id) }
}

/** Each token is used once, as in a service that has run for a while. */
async function firstUses({ url, bearers }: Served): Promise<void> {
  const unused = bearers.values()
  const shots = () => meWith(unused.next().value ?? bearers[0] ?? '')
  only(200, await saturate({ url, shots, connections, amount: bearers.length }))
}

const meWith = (bearer: string): Shot => ({ path: '/users/me', headers: { Authorization: `Bearer ${bearer}` } })

function anyOf<T>(all: readonly T[]): T {
  const found = all[Math.floor(Math.random() * all.length)]
  if (found === undefined) throw new Error('there is none')
  return found
}

interface Kind {
  readonly what: string
  readonly status: number
  readonly hashes?: true
  readonly shot: (service: Served) => () => Shot
}

const kinds: readonly Kind[] = [
  {
    what: 'GET /users/me',
    status: 200,
    shot:
      ({ bearers }) =>
      () =>
        meWith(anyOf(bearers)),
  },
  {
    what: 'GET /users/{id}, random',
    status: 200,
    shot: ({ crowd, ofSuperuser }) => {
      const headers = { Authorization: `Bearer ${ofSuperuser}` }
      return () => ({ path: `/users/${anyOf(crowd.ids)}`, headers })
    },
  },
  {
    what: 'POST /auth/jwt/login',
    status: 200,
    hashes: true,
    shot:
      ({ crowd }) =>
      () =>
        login(anyOf(crowd.emails)),
  },
  {
    what: 'POST /auth/register',
    status: 201,
    hashes: true,
    shot: () => () => registration(`${newId()}@example.com`),
  },
]

/** Reads random users in this process; resolves to the microseconds of one read. */
async function reader({ open, ids }: Crowd, { readsPerRound }: Crowds) {
  const handle = await open()
  await handle.prepare()
  const { users } = handle
  return {
    close: handle.close,
    async read(): Promise<number> {
      const wanted = Array.from({ length: readsPerRound }, () => anyOf(ids))
      const began = performance.now()
      for (const id of wanted) await users.find(id)
      return ((performance.now() - began) * 1000) / readsPerRound
    },
  }
}

/** @param measure the microseconds among few users (0) or many (1) */
async function compared(what: string, rounds: number, measure: (at: 0 | 1) => Promise<number>): Promise<Figure> {
  const pairs: { few: number; many: number }[] = []
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const few = await measure(0)
      pairs.push({ few, many: await measure(1) })
    } else {
      const many = await measure(1)
      pairs.push({ few: await measure(0), many })
    }
  }
  const few = spreadOf(pairs.map((pair) => pair.few))
  const many = spreadOf(pairs.map((pair) => pair.many))
  const ratio = spreadOf(pairs.map((pair) => pair.many / pair.few))
  return {
    what,
    value: `${many.median.toFixed(1)} µs`,
    beside: `10 000 users: ${few.median.toFixed(1)} µs`,
    ratio: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
    goal: { text: `≤ ${goal}`, isMet: ratio.median <= goal },
  }
}
