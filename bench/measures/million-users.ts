import driver from 'better-sqlite3'
import { jwtCredentials } from '../../src/adapters/credentials/jwt.ts'
import { derivedKeys } from '../../src/adapters/crypto/derived-keys.ts'
import { newId } from '../../src/adapters/crypto/new-id.ts'
import { connectWriter } from '../../src/adapters/stores/sqlite/connection.ts'
import { createFile, pathIn } from '../../src/adapters/stores/sqlite/data-file.ts'
import { openSqlite } from '../../src/adapters/stores/sqlite/sqlite.ts'
import { statementsOf } from '../../src/adapters/stores/sqlite/statements.ts'
import { userWrites } from '../../src/adapters/stores/sqlite/write/users.ts'
import { passwordHasher } from '../../src/config/composition/shared-resources.ts'
import type { Email } from '../../src/domain/email.ts'
import type { UserId } from '../../src/domain/ids.ts'
import { newUser, type User } from '../../src/domain/user.ts'
import { only, type Shot, saturate } from '../load.ts'
import { bothCores, loadCore, moveTo, serverCore } from '../machine.ts'
import type { Figure, Measure } from '../measure.ts'
import { login, password, registration } from '../people.ts'
import {
  longHashQueue,
  residentMegabytes,
  type StartedService,
  scratchFolder,
  secret,
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
const usersPerTransaction = 20_000
const fillingCacheKiB = 1_048_576
const warmUpSeconds = 4
const readsPerRound = 20_000

interface Crowd {
  readonly dataFolder: string
  readonly ids: readonly UserId[]
  readonly emails: readonly string[]
  readonly superuser: User
}

/** Requests among a million users, compared with the same requests among ten thousand. */
export const millionUsers: Measure = {
  name: 'million-users',
  async run({ rounds, seconds }, say) {
    const hash = await passwordHasher().hash(password)
    const few = await filled(sizes.few, hash)
    const many = await filled(sizes.many, hash)
    moveTo(loadCore)
    const services = [await served(few, signedIn.few), await served(many, signedIn.many)] as const
    try {
      for (const service of services) await firstUses(service)
      for (const { what, status, shot, hashes } of kinds) {
        const load = hashes ? hashing : { connections, lengthening: 1 }
        const microseconds = async (service: Served, length: number): Promise<number> => {
          const sent = { url: service.url, shots: shot(service), connections: load.connections }
          return 1e6 / only(status, await saturate({ ...sent, seconds: load.lengthening * length }))
        }
        for (const service of services) await microseconds(service, warmUpSeconds)
        say(await compared(what, rounds, (at) => microseconds(services[at], seconds)))
      }
      say({
        what: '  resident memory after these requests',
        value: `${residentMegabytes(services[1].pid)} MB`,
        beside: `10 000 users: ${residentMegabytes(services[0].pid)} MB`,
      })
    } finally {
      for (const service of services) await service.end()
      moveTo(bothCores)
    }
    const readers = [await reader(few), await reader(many)] as const
    for (const { read } of readers) for (let round = 0; round < 10; round++) await read()
    say(await compared('a random read of the store alone', rounds, (at) => readers[at].read()))
    for (const { close } of readers) await close()
  },
}

/** Creates the users through the code of the writer, without its thread and without a sync. */
async function filled(count: number, hash: string): Promise<Crowd> {
  const dataFolder = scratchFolder()
  const place = { ...(await createFile(pathIn(dataFolder), console.warn)), isSmall: false }
  const db = connectWriter(driver, place)
  db.pragma('synchronous = OFF')
  db.pragma(`cache_size = -${fillingCacheKiB}`)
  const { insert } = userWrites(statementsOf(db))
  const emails: string[] = []
  const ids: UserId[] = []
  const now = Date.now()

  function add(fields: Partial<User> = {}): User {
    const id = newId()
    const email = `${Math.random().toString(36).slice(2)}.${ids.length}@example.com` as Email // safe: no other characters
    const user = { ...newUser(id, email, hash, new Date(now)), ...fields }
    if (insert(now, user, []) !== 'stored') throw new Error('an address was taken')
    ids.push(id)
    emails.push(email)
    return user
  }

  const superuser = add({ isSuperuser: true, isVerified: true })
  const addSome = db.transaction(() => {
    for (const end = Math.min(count, ids.length + usersPerTransaction); ids.length < end; ) add()
  })
  while (ids.length < count) addSome()
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  return { dataFolder, ids, emails, superuser }
}

interface Served extends StartedService {
  readonly crowd: Crowd
  readonly bearers: readonly string[]
  readonly ofSuperuser: string
}

async function served(crowd: Crowd, signedIn: number): Promise<Served> {
  const { dataFolder, ids, superuser } = crowd
  const env = { ...longHashQueue, PORTCULLIS_LIMITS__ENABLED: 'false' }
  const service = await startService({ dataFolder, cores: serverCore, env })
  const { issue } = jwtCredentials({
    key: derivedKeys(secret).jwtKey,
    audience: 'portcullis:auth',
    tenant: 'default',
    lifetimeSeconds: 3600,
    expiringIds: { add: async () => undefined, has: async () => false, sweep: async () => 0 },
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
async function reader({ dataFolder, ids }: Crowd) {
  const handle = await openSqlite({ dataFolder, clock: () => new Date(), warn: console.warn })
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
    what: `${what}, of 1 000 000 users`,
    value: `${many.median.toFixed(1)} µs`,
    beside: `10 000 users: ${few.median.toFixed(1)} µs`,
    ratio: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
    goal: { text: `≤ ${goal}`, isMet: ratio.median <= goal },
  }
}
