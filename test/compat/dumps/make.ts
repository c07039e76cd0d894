/**
 * Makes the dumps of this folder again: `scripts/node test/compat/dumps/make.ts`. The application in `test/compat/app` registers
 * people in each database; the dumps are what it has stored, and `people-*.json` is what the people know.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { BSON, MongoClient } from 'mongodb'
import { startMongo } from '../../support/servers/mongo-server.ts'
import { startPostgres } from '../../support/servers/postgres-server.ts'
import { type AppSettings, registerPeople } from '../former-app.ts'

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

async function people(kind: string, settings: AppSettings, count: number): Promise<void> {
  const known = await registerPeople(settings, count, 6)
  const lines = known.map(({ tokens: { cookie = null }, ...one }) => JSON.stringify({ ...one, tokens: { cookie } }))
  writeFileSync(here(`people-${kind}.json`), `[\n${lines.join(',\n')}\n]\n`)
}

const postgres = await startPostgres()
const url = await postgres.newDatabase()
await people('postgres', { DATABASE: url.replace('postgres:', 'postgresql+asyncpg:') }, 28)
const [version = '15'] = readdirSync('/usr/lib/postgresql')
const dumped = execFileSync(`/usr/lib/postgresql/${version}/bin/pg_dump`, ['--inserts', '--no-owner', url], {
  encoding: 'utf8',
})
const statements = dumped.split('\n').filter((line) => !/^(--|\\|SET |SELECT pg_catalog|$)/.test(line))
writeFileSync(here('postgres.sql'), `${statements.join('\n')}\n`)
await postgres.destroy()

const file = join(tmpdir(), `former-${process.pid}.db`)
await people('sqlite', { DATABASE: `sqlite+aiosqlite:///${file}`, IDS: 'integer' }, 14)
const db = new Database(file)
const tables = db.prepare(`SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC`).all() as {
  name: string
  sql: string
}[]
const quoted = (value: unknown): string =>
  value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`
const rows = tables
  .filter(({ sql }) => sql.startsWith('CREATE TABLE'))
  .flatMap(({ name }) =>
    (db.prepare(`SELECT * FROM "${name}"`).all() as object[]).map(
      (row) => `INSERT INTO "${name}" VALUES (${Object.values(row).map(quoted).join(', ')});`,
    ),
  )
writeFileSync(here('sqlite.sql'), `${[...tables.map(({ sql }) => `${sql};`), ...rows].join('\n')}\n`)
db.close()
rmSync(file)

const mongo = await startMongo({ keeps: false })
await people('mongodb', { DATABASE: mongo.url('former') }, 14)
const client = new MongoClient(mongo.url('former'))
const documents = async (name: string) => {
  const found = await client.db().collection(name).find().toArray()
  return `"${name}": [\n${found.map((one) => BSON.EJSON.stringify(one)).join(',\n')}\n]`
}
writeFileSync(here('mongodb.json'), `{${await documents('User')},\n${await documents('AccessToken')}}\n`)
await client.close()
await mongo.destroy()
