import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Redis } from 'ioredis'
import { MongoClient } from 'mongodb'
import pg from 'pg'

export type Row = Readonly<Record<string, unknown>>

/** Everything that a store holds, by the names of its tables or collections. */
export type Contents = Readonly<Record<string, readonly Row[]>>

export function sqlitePath(dataFolder: string): string {
  return join(dataFolder, 'portcullis.sqlite')
}

/** Runs `use` on a connection of its own to the file of a service, be it running or not. */
export function inSqlite<T>(dataFolder: string, use: (db: Database.Database) => T): T {
  const db = new Database(sqlitePath(dataFolder), { timeout: 1000 })
  try {
    return use(db)
  } finally {
    db.close()
  }
}

export function sqliteContents(dataFolder: string): Contents {
  return inSqlite(dataFolder, (db) => {
    const names = db.prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all()
    return Object.fromEntries(names.map((name) => [name, db.prepare<[], Row>(`SELECT * FROM "${name}"`).all()]))
  })
}

/** Every byte of the data folder, the write-ahead log included. */
export function folderBytes(folder: string): Buffer {
  return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))))
}

/** Runs `use` on a connection of its own to this database. */
export async function inMongo<T>(url: string, use: (db: ReturnType<MongoClient['db']>) => Promise<T>): Promise<T> {
  const client = new MongoClient(url)
  try {
    return await use(client.db())
  } finally {
    await client.close()
  }
}

export function mongoContents(url: string): Promise<Contents> {
  return inMongo(url, async (db) => {
    const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name).sort()
    const all = await Promise.all(names.map((name) => db.collection(name).find().toArray()))
    return Object.fromEntries(names.map((name, at) => [name, all[at] ?? []]))
  })
}

/** Runs `use` on a connection of its own to this database. */
export async function inPostgresDatabase<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

export function postgresContents(url: string, schema = 'portcullis'): Promise<Contents> {
  return inPostgresDatabase(url, async (client) => {
    const listed = 'SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 ORDER BY 1'
    const contents: Record<string, readonly Row[]> = {}
    for (const { name } of (await client.query<{ name: string }>(listed, [schema])).rows) {
      contents[name] = (await client.query<Row>(`SELECT * FROM ${schema}.${name}`)).rows
    }
    return contents
  })
}

/** Everything that a service has written to its stores of users and tokens, as text. */
export async function writtenBy(env: Readonly<Record<string, string>>, dataFolder: string): Promise<string> {
  const { PORTCULLIS_STORES__USERS__URL: url, PORTCULLIS_STORES__TOKENS__URL: redis } = env
  const users = url === undefined ? folderBytes(dataFolder).toString('latin1') : await usersIn(url)
  return JSON.stringify([users, redis === undefined ? {} : await redisContents(redis)])
}

const usersIn = (url: string): Promise<Contents> =>
  url.startsWith('postgres:') ? postgresContents(url) : mongoContents(url)

/** Every key of every database of a server, with its value. */
export async function redisContents(url: string): Promise<Contents> {
  const redis = new Redis(url)
  try {
    const rows: Row[] = []
    for (const key of await redis.keys('*')) {
      const type = await redis.type(key)
      const value = type === 'zset' ? await redis.zrange(key, '0', '-1') : await redis.get(key)
      rows.push({ key, value })
    }
    return { keys: rows }
  } finally {
    redis.disconnect()
  }
}
