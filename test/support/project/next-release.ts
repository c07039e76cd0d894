import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastOf } from '../../../src/adapters/stores/migrations.ts'
import { knownSchema as mongoVersion } from '../../../src/adapters/stores/mongo/migrations.ts'
import { knownSchema as postgresVersion } from '../../../src/adapters/stores/postgres/migrations/migrations.ts'
import { migrations } from '../../../src/adapters/stores/sqlite/migrations/migrations.ts'
import { scratchFolder } from '../services/spawned-service.ts'
import { projectRoot } from './readme-blocks.ts'

/** The versions of the data of this release. */
export const knownVersions = { sqlite: lastOf(migrations), mongo: mongoVersion, postgres: postgresVersion } as const

const steps = [
  [
    'sqlite/migrations/migrations.ts',
    knownVersions.sqlite,
    `(db) => { db.exec("ALTER TABLE users ADD COLUMN nickname TEXT DEFAULT ''") }`,
  ],
  [
    'mongo/migrations.ts',
    knownVersions.mongo,
    `async ({ users }) => { await users.updateMany({}, { $set: { nickname: '' } }) }`,
  ],
  [
    'postgres/migrations/migrations.ts',
    knownVersions.postgres,
    `async ({ change }) => { await change("ALTER TABLE @user_private ADD COLUMN nickname text DEFAULT ''") }`,
  ],
] as const

/** The next release: this one with one more additive migration in each of these stores. Returns its executable. */
export function nextRelease(): string {
  const folder = scratchFolder()
  for (const name of ['src', 'package.json']) cpSync(join(projectRoot, name), join(folder, name), { recursive: true })
  symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'))
  for (const [file, version, run] of steps) {
    const path = join(folder, 'src/adapters/stores', file)
    const text = readFileSync(path, 'utf8')
    const list = /(export const migrations: Migrations<\w+> = \[[\s\S]*?),?\s*\]\n/
    writeFileSync(path, text.replace(list, `$1, { version: ${version + 1}, run: ${run} }]\n`))
  }
  return join(folder, 'src/cli/portcullis.ts')
}
