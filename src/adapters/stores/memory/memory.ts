import type { StoreBackend } from '../store-backend.ts'
import type { StorePorts } from '../store-ports.ts'
import { memoryExpiringMarks } from './expiring-marks.ts'
import { memoryLimiter } from './limiter.ts'
import { memoryOutbox } from './outbox.ts'
import { memoryRefusedLogins } from './refused-logins.ts'
import { memorySessionStore } from './sessions.ts'
import { memorySingleUseRecords } from './single-use-records.ts'
import { memoryTenantTexts } from './tenant-texts.ts'
import { memoryTokenRequests } from './token-requests.ts'
import { memoryTokenStore } from './tokens.ts'
import { memoryUserIds } from './user-ids.ts'
import { memoryUserStore } from './users.ts'

/**
 * Keeps all records in the process, for trials and tests: they end with the process, and no other process sees them.
 * Each operation runs in one turn of the event loop, so it is atomic. An opened store is new and empty, unless the same
 * tenant has it open: a reload opens a tenant again before it closes the former opening.
 */
export const memoryBackend = {
  kind: 'memory',
  roles: ['users', 'sessions', 'tokens'],
  protocols: [],

  async open({ clock, tenant, shares }) {
    const opened = () => portsOf(clock)
    // There is no connection, so the store is usable before `prepare`.
    const lifecycle = { prepare: async () => undefined, ping: async () => undefined, close: async () => undefined }
    if (tenant === undefined || shares === undefined) return { ...lifecycle, ...opened() }
    const { value, release } = shares.lease(`memory of ${tenant}`, opened, async () => undefined)
    return { ...lifecycle, ...value, close: release }
  },
} as const satisfies StoreBackend<object, Required<StorePorts>>

function portsOf(clock: () => Date): Required<StorePorts> {
  const outbox = memoryOutbox()
  const userIds = memoryUserIds()
  const users = memoryUserStore(outbox, userIds)
  return {
    users,
    outbox,
    tokenRequests: memoryTokenRequests(),
    expiringMarks: memoryExpiringMarks(clock),
    tenantTexts: memoryTenantTexts(),
    userIds,
    loginTimes: users,
    sessions: memorySessionStore(clock),
    tokens: memoryTokenStore(clock),
    singleUseRecords: memorySingleUseRecords(clock),
    limiter: memoryLimiter(),
    refusedLogins: memoryRefusedLogins(),
  }
}
