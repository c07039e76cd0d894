import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { openSqlite, sqliteBackend } from '../../../src/adapters/stores/sqlite/sqlite.ts'
import type { Shares, StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { openShares } from '../../../src/adapters/stores/store-backend.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import type { StoreUnderTest } from './store-under-test.ts'

/** A folder of the test's own, and handles on the file in it. */
export async function sqliteFolder() {
  const clock = fixedClock()
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-sqlite-'))
  const handles: StoreHandle[] = []

  return {
    folder,
    path: join(folder, 'portcullis.sqlite'),
    clock,

    async handle(
      start?: () => Worker,
      shares?: Shares,
    ): Promise<Omit<Required<StoreHandle>, 'announcements' | 'foreignAccess'>> {
      const options = { dataFolder: folder, clock, warn() {}, ...(shares && { shares }) }
      const handle = await openSqlite(options, start)
      handles.push(handle)
      await handle.prepare()
      return handle
    },

    async close(): Promise<void> {
      await Promise.all(handles.map((handle) => handle.close()))
      await rm(folder, { recursive: true })
    },
  }
}

const shares = openShares()

export const sqliteUnderTest: StoreUnderTest = {
  name: 'sqlite',
  roles: sqliteBackend.roles,
  ports: ['limiter', 'refusedLogins', 'userIds'],
  /** The first handle shares the writer's thread with those of other folders, the second has one of its own. */
  async open() {
    const { handle, clock, close } = await sqliteFolder()
    return { clock, close, store: await handle(undefined, shares), second: await handle() }
  },
}
