import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { openSqlite } from '../../src/adapters/stores/sqlite/sqlite.ts'
import type { Shares, StoreHandle } from '../../src/adapters/stores/store-backend.ts'
import { openShares } from '../../src/config/composition/shared-resources.ts'
import { shared } from '../../src/testing/contracts/store-under-test.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import type { StoreUnderTest } from './stores.ts'

/** A folder of the test's own, and handles on the file in it. */
export async function sqliteFolder() {
  const clock = fixedClock()
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-sqlite-'))
  const handles: StoreHandle[] = []

  return {
    folder,
    path: join(folder, 'portcullis.sqlite'),
    clock,

    async handle(start?: () => Worker, shares?: Shares): Promise<Required<StoreHandle>> {
      const options = { url: null, dataFolder: folder, clock, warn() {}, ...(shares && { shares }) }
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

/** The first handle shares the writer's thread with those of other folders, the second has one of its own. */
async function open() {
  const { handle, clock, close } = await sqliteFolder()
  return { clock, close, first: await handle(undefined, shares), second: shared(() => handle()) }
}

export const sqliteUnderTest: StoreUnderTest = {
  name: 'sqlite',
  async users() {
    const { first, second, ...opened } = await open()
    return { ...opened, role: first.users, second: async () => (await second()).users }
  },
  async sessions() {
    const { first, second, ...opened } = await open()
    return { ...opened, store: first.sessions, second: async () => (await second()).sessions }
  },
  async tokens() {
    const { first, second, ...opened } = await open()
    return { ...opened, store: first.tokens, second: async () => (await second()).tokens }
  },
  async oauthStates() {
    const { first, second, ...opened } = await open()
    return { ...opened, store: first.oauthStates, second: async () => (await second()).oauthStates }
  },
}
