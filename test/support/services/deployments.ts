// The combinations of stores on which tests of the whole service run.

import { sharedMongo } from '../servers/mongo-server.ts'
import { skipIfMissing } from '../servers/obstacles.ts'
import { postgresObstacle, sharedPostgres } from '../servers/postgres-server.ts'
import { dropDatabase, mongoObstacle } from '../stores/mongo.ts'
import { redisServerObstacle, sharedRedisUrl } from '../stores/redis.ts'
import { goodSecret } from './settings.ts'

export interface Deployment {
  readonly name: string
  /** Whether another process can reach the same stores. */
  readonly isShared: boolean
  /** Why it cannot be tried here; `null` when it can. */
  obstacle(): Promise<string | null>
  /** Settings, as environment variables, of stores without accounts. */
  settings(): Promise<Readonly<Record<string, string>>>
  /** Removes the records of those settings from a shared server. */
  remove(settings: Readonly<Record<string, string>>): Promise<void>
}

const usersUrl = 'PORTCULLIS_STORES__USERS__URL'
const noObstacle = async () => null
const redisObstacle = async () => (process.env.REDIS_URL ? null : redisServerObstacle())

async function mongoUsers(): Promise<Readonly<Record<string, string>>> {
  const url = (await sharedMongo()).url()
  return { PORTCULLIS_STORES__USERS__KIND: 'mongo', [usersUrl]: url, PORTCULLIS_SECRET: goodSecret }
}

async function dropUsers(settings: Readonly<Record<string, string>>): Promise<void> {
  const url = settings[usersUrl]
  if (url !== undefined) await dropDatabase(url)
}

async function inRedis(): Promise<Readonly<Record<string, string>>> {
  const url = await sharedRedisUrl()
  return {
    PORTCULLIS_STORES__SESSIONS__KIND: 'redis',
    PORTCULLIS_STORES__SESSIONS__URL: url,
    PORTCULLIS_STORES__TOKENS__KIND: 'redis',
    PORTCULLIS_STORES__TOKENS__URL: url,
  }
}

export const inMemory: Deployment = {
  name: 'memory',
  isShared: false,
  obstacle: noObstacle,
  settings: async () => ({ PORTCULLIS_STORES__USERS__KIND: 'memory' }),
  remove: async () => {},
}

export const onSqlite: Deployment = {
  name: 'SQLite',
  isShared: true,
  obstacle: noObstacle,
  settings: async () => ({}),
  remove: async () => {},
}

export const onMongo: Deployment = {
  name: 'MongoDB',
  isShared: true,
  obstacle: mongoObstacle,
  settings: mongoUsers,
  remove: dropUsers,
}

export const onPostgres = inPostgres('PostgreSQL')

/** @param created the end of CREATE DATABASE */
export function inPostgres(name: string, created?: string): Deployment {
  return {
    name,
    isShared: true,
    obstacle: async () => postgresObstacle(),
    async settings() {
      const url = await (await sharedPostgres()).newDatabase(created)
      return { PORTCULLIS_STORES__USERS__KIND: 'postgres', [usersUrl]: url, PORTCULLIS_SECRET: goodSecret }
    },
    async remove(settings) {
      const url = settings[usersUrl]
      if (url !== undefined) await (await sharedPostgres()).drop(url)
    },
  }
}

export const onSqliteAndRedis: Deployment = {
  name: 'SQLite and Redis',
  isShared: true,
  obstacle: redisObstacle,
  settings: inRedis,
  remove: async () => {},
}

export const onMongoAndRedis: Deployment = {
  name: 'MongoDB and Redis',
  isShared: true,
  obstacle: async () => (await mongoObstacle()) ?? (await redisObstacle()),
  settings: async () => ({ ...(await mongoUsers()), ...(await inRedis()) }),
  remove: dropUsers,
}

/** For a suite's `before`: fails or skips it where `deployment` cannot be had. */
export async function needsDeployment(suite: Mocha.Context, deployment: Deployment): Promise<void> {
  skipIfMissing(suite, await deployment.obstacle())
}
