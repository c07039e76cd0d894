import driver from 'better-sqlite3'
import { connectWriter } from '../../src/adapters/stores/sqlite/connection.ts'
import { createFile, pathIn } from '../../src/adapters/stores/sqlite/data-file.ts'
import { openSqlite } from '../../src/adapters/stores/sqlite/sqlite.ts'
import { statementsOf } from '../../src/adapters/stores/sqlite/statements.ts'
import { userWrites } from '../../src/adapters/stores/sqlite/write/users.ts'
import type { UserId } from '../../src/domain/ids.ts'
import type { User } from '../../src/domain/user.ts'
import { scratchFolder } from '../processes.ts'
import { asSuperuser, type Crowd, type Crowds, someone } from './crowd.ts'

const usersPerTransaction = 20_000
const fillingCacheKiB = 1_048_576

export const sqliteCrowds = async (): Promise<Crowds> => ({
  suffix: '',
  readsPerRound: 20_000,
  create,
  serverProcesses: () => [],
  end: async () => undefined,
})

/** Creates the users through the code of the writer, without its thread and without a sync. */
async function create(count: number, hash: string): Promise<Crowd> {
  const dataFolder = scratchFolder()
  const place = { ...(await createFile(pathIn(dataFolder), console.warn)), isSmall: false }
  const db = connectWriter(driver, place)
  db.pragma('synchronous = OFF')
  db.pragma(`cache_size = -${fillingCacheKiB}`)
  const { insert } = userWrites(statementsOf(db))
  const emails: string[] = []
  const ids: UserId[] = []
  const now = new Date()

  function add(user: User): void {
    if (insert(now.getTime(), user, []) !== 'stored') throw new Error('an address was taken')
    ids.push(user.id)
    emails.push(user.email)
  }

  const superuser = asSuperuser(someone(hash, now))
  add(superuser)
  const addSome = db.transaction(() => {
    for (const end = Math.min(count, ids.length + usersPerTransaction); ids.length < end; ) add(someone(hash, now))
  })
  while (ids.length < count) addSome()
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  return {
    ids,
    emails,
    superuser,
    start: { dataFolder },
    open: () => openSqlite({ dataFolder, clock: () => new Date(), warn: console.warn }),
  }
}
