import { randomUUID } from 'node:crypto'
import { Unavailable } from '../../domain/refusal.ts'
import { timers } from '../../lib/timers.ts'
import { Unsuitable } from './store-backend.ts'

/** The version of stored data. */
export interface Schema {
  /** The last migration that has run. */
  readonly version: number
  /** A release that does not know this version would misread the data. */
  readonly oldest: number
}

/**
 * A numbered step that changes stored data. It only adds, so that a release that does not know it can go on beside it. It may
 * run twice, because the process may die after the step and before its record.
 */
export interface Migration<Data> {
  readonly version: number
  /** For a step that does not only add: no release without this step may open the data afterwards. */
  readonly excludesOlder?: boolean
  /** Of the first one: how data of an older schema move. */
  readonly moves?: string
  run(data: Data): void | Promise<void>
}

/** The migrations of a kind of store in their order. The first one makes the data of a new store. */
export type Migrations<Data> = readonly [Migration<Data>, ...Migration<Data>[]]

/** Throws `Unsuitable` for data that this release cannot read. `null` is a new store. */
export function requireReadable(found: Schema | null, all: Migrations<never>): void {
  if (found === null) return
  const known = lastOf(all)
  if (found.oldest > known) {
    throw new Unsuitable(
      `the data was written by a newer release (they need schema ${found.oldest}; this release knows ${known}): start that release`,
    )
  }
  if (found.version < all[0].version) {
    throw new Unsuitable(
      `the data was written by an older release (schema ${found.version}; this release reads ${all[0].version} and later): ${all[0].moves ?? 'start a release between them first'}`,
    )
  }
}

/** The migrations that the data lack. Throws `Unsuitable` as `requireReadable` does. */
export function missingMigrations<Data>(found: Schema | null, all: Migrations<Data>): readonly Migration<Data>[] {
  requireReadable(found, all)
  return all.filter(({ version }) => version > (found?.version ?? 0))
}

/** The fault of data that lack migrations, for a process that leaves them to others. */
export function migrateFirst(missing: readonly Migration<never>[]): Unsuitable {
  const versions = missing.map(({ version }) => version).join(', ')
  return new Unsuitable(
    `the data lack the migrations ${versions}: run "portcullis storage migrate", or start the service if stores.migrate is "start"`,
  )
}

/** The version of the data after these migrations. */
export function schemaAfter(found: Schema | null, ran: readonly Migration<never>[]): Schema {
  return ran.reduce<Schema>(
    (before, { version, excludesOlder }) => ({ version, oldest: excludesOlder ? version : before.oldest || version }),
    found ?? { version: 0, oldest: 0 },
  )
}

export function lastOf(all: Migrations<never>): number {
  return all[all.length - 1]?.version ?? all[0].version
}

/** The place where a server keeps the version, and a lock that expires by itself. */
export interface SchemaRecord {
  read(): Promise<Schema | null>
  write(schema: Schema): Promise<void>
  /** Takes the lock, or keeps it. Resolves to `false` while another holder has it. */
  lock(holder: string, milliseconds: number): Promise<boolean>
  unlock(holder: string): Promise<void>
}

const lockMs = 30_000
/** Less than the 2 s within which `prepare` answers. */
const waitMs = 1_500
const pauseMs = 50

/**
 * Runs the missing migrations in one process at a time. The others wait, and hold nothing meanwhile.
 *
 * @param mayMigrate `false` refuses data that lack migrations; a new store gets its first data all the same
 * @throws `Unavailable` while another process migrates; `Unsuitable` if no retry can help
 */
export async function migrate<Data>(
  data: Data,
  record: SchemaRecord,
  all: Migrations<Data>,
  mayMigrate: boolean,
): Promise<void> {
  const holder = randomUUID()
  for (let waited = 0; ; waited += pauseMs) {
    const found = await record.read()
    const missing = missingMigrations(found, all)
    if (missing.length === 0) return
    if (found !== null && !mayMigrate) throw migrateFirst(missing)
    if (await record.lock(holder, lockMs)) break
    if (waited >= waitMs) throw new Unavailable('another process migrates the data')
    await timers.pause(pauseMs)
  }
  const stopRenewing = timers.every(lockMs / 3, () => void record.lock(holder, lockMs).catch(() => undefined))
  try {
    // Another process may have migrated between our look and our lock.
    for (const step of missingMigrations(await record.read(), all)) {
      await step.run(data)
      await record.write(schemaAfter(await record.read(), [step]))
    }
  } finally {
    stopRenewing()
    await record.unlock(holder).catch(() => undefined) // the lock expires by itself
  }
}
