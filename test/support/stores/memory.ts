import { memoryBackend } from '../../../src/adapters/stores/memory/memory.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export const memoryUnderTest: StoreUnderTest = {
  name: 'memory',
  roles: memoryBackend.roles,
  ports: ['limiter', 'refusedLogins', 'userIds'],
  async open() {
    const clock = fixedClock()
    const store = await memoryBackend.open({ clock, warn() {} })
    // Nothing outlives the process, so the second handle on the same storage is the first one.
    return { store, clock, second: store, close: () => store.close() }
  },
}
