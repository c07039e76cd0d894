import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { BSON, MongoClient } from 'mongodb'
import { sharedMongo } from '../../support/servers/mongo-server.ts'
import { sharedPostgres } from '../../support/servers/postgres-server.ts'
import { scratchFolder } from '../../support/services/spawned-service.ts'
import type { FormerPerson } from '../former-app.ts'

/** A database of a real application of fastapi-users, from the dumps of this folder (`make.ts`). */
export interface FormerDatabase {
  readonly url: string
  readonly people: readonly FormerPerson[]
  /** Runs statements on it. */
  change(text: string): Promise<void>
  close(): Promise<void>
}

const dump = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')
const peopleIn = (kind: string): readonly FormerPerson[] => JSON.parse(dump(`people-${kind}.json`))

export async function formerPostgres(): Promise<FormerDatabase> {
  const server = await sharedPostgres()
  const url = await server.newDatabase()
  const change = (text: string) => server.query(text, new URL(url).pathname.slice(1))
  await change(dump('postgres.sql'))
  return {
    url: url.replace('postgres:', 'postgresql+asyncpg:'),
    people: peopleIn('postgres'),
    change,
    close: () => server.drop(url),
  }
}

export async function formerSqlite(): Promise<FormerDatabase> {
  const path = join(scratchFolder(), 'former.db')
  const change = async (text: string) => {
    const db = new Database(path)
    db.pragma('foreign_keys = OFF') // as an application that sets no pragma
    db.exec(text)
    db.close()
  }
  await change(dump('sqlite.sql'))
  return { url: `sqlite+aiosqlite:///${path}`, people: peopleIn('sqlite'), change, close: async () => undefined }
}

export async function formerMongo(): Promise<FormerDatabase> {
  const url = (await sharedMongo()).url()
  const client = new MongoClient(url)
  const collections: Record<string, object[]> = BSON.EJSON.parse(dump('mongodb.json'))
  for (const [name, documents] of Object.entries(collections)) {
    await client.db().collection(name).insertMany(documents)
  }
  return {
    url,
    people: peopleIn('mongodb'),
    /** `text` is extended JSON of users to add. */
    async change(text) {
      await client
        .db()
        .collection('User')
        .insertMany(BSON.EJSON.parse(text) as object[]) // safe: a list of documents
    },
    async close() {
      await client.db().dropDatabase()
      await client.close()
    },
  }
}
