import { memoryBackend } from '../../src/adapters/stores/memory/memory.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import type { StoreUnderTest } from './stores.ts'

async function open() {
  const clock = fixedClock()
  const handle = await memoryBackend.open({ url: null, dataFolder: '', clock, warn() {} })
  await handle.prepare()
  return { clock, handle, close: () => handle.close() }
}

const missing = (role: string): never => {
  throw new Error(`the memory store offers no ${role}`)
}

/** Nothing outlives the process, so that a second handle on the same storage is the same one. */
export const memoryUnderTest: StoreUnderTest = {
  name: 'memory',
  async users() {
    const { handle, ...opened } = await open()
    const role = handle.users ?? missing('users')
    return { ...opened, role, second: async () => role }
  },
  async sessions() {
    const { handle, ...opened } = await open()
    const store = handle.sessions ?? missing('sessions')
    return { ...opened, store, second: async () => store }
  },
  async tokens() {
    const { handle, ...opened } = await open()
    const store = handle.tokens ?? missing('tokens')
    return { ...opened, store, second: async () => store }
  },
  async oauthStates() {
    const { handle, ...opened } = await open()
    const store = handle.oauthStates ?? missing('OAuth states')
    return { ...opened, store, second: async () => store }
  },
}
