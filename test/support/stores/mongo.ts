import { MongoClient } from 'mongodb'
import { mongoBackend } from '../../../src/adapters/stores/mongo/mongo.ts'
import type { Shares, StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { openShares } from '../../../src/adapters/stores/store-backend.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { NoMongo, sharedMongo } from '../servers/mongo-server.ts'
import { recovers } from './outages.ts'
import type { StoreUnderTest } from './store-under-test.ts'

const sharedClients = openShares()
const connections = 16

/**
 * A database of its own on the shared server, and two handles on it: the first shares its client with those of other
 * databases, the second has one of its own.
 */
export async function openMongo() {
  const url = (await sharedMongo()).url()
  const clock = fixedClock()
  const handles: StoreHandle[] = []

  async function open(shares?: Shares): Promise<Omit<Required<StoreHandle>, 'announcements' | 'foreignAccess'>> {
    const handle = await mongoBackend.open({ url, clock, warn() {}, ...(shares && { shares }) })
    handles.push(handle)
    await recovers(() => handle.prepare()) // a busy server may answer too late
    // The callers of a case come at once. A busy machine takes too long to connect so many of them at that moment.
    await recovers(() => Promise.all(Array.from({ length: connections }, () => handle.ping())))
    return handle
  }

  const handle = await open(sharedClients)
  let second: ReturnType<typeof open> | undefined

  return {
    url,
    clock,
    handle,
    second() {
      second ??= open()
      return second
    },
    async close() {
      await Promise.all(handles.map((handle) => handle.close()))
      await dropDatabase(url)
    },
  }
}

export async function dropDatabase(url: string): Promise<void> {
  const client = new MongoClient(url)
  await client.db().dropDatabase()
  await client.close()
}

/** Why there is no server to test with; `null` when there is one. */
export async function mongoObstacle(): Promise<string | null> {
  try {
    await sharedMongo()
    return null
  } catch (error) {
    if (error instanceof NoMongo) return error.message
    throw error
  }
}

export const mongoUnderTest: StoreUnderTest = {
  name: 'MongoDB',
  start: mongoObstacle,
  roles: mongoBackend.roles,
  ports: ['limiter', 'refusedLogins', 'userIds'],
  async open() {
    const { clock, close, handle, second } = await openMongo()
    return { clock, close, store: handle, second: await second() }
  },
}
