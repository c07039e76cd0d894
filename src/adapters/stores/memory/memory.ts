import type { OpenOptions, StoreBackend, StoreHandle, UsersRole } from '../store-backend.ts'
import { memoryExpiringIds } from './expiring-ids.ts'
import { memoryLimiter } from './limiter.ts'
import { memoryOAuthStates } from './oauth-states.ts'
import { memoryOutbox } from './outbox.ts'
import { memorySessionStore } from './sessions.ts'
import { memoryTokenRequests } from './token-requests.ts'
import { memoryTokenStore } from './tokens.ts'
import { memoryUserStore } from './users.ts'

/**
 * Keeps all records in the process, for trials and tests: they end with the process, and no other process sees them.
 * Each operation runs in one turn of the event loop, so it is atomic. An opened store is new and empty, unless the same
 * tenant has it open: a reload opens a tenant again before it closes the former opening.
 */
export const memoryBackend: StoreBackend = {
  kind: 'memory',
  roles: ['users', 'sessions', 'tokens'],
  protocols: [],

  async open({ clock, tenant, shares }: OpenOptions): Promise<StoreHandle> {
    const opened = (): Omit<StoreHandle, 'close'> => handleOf(clock)
    if (tenant === undefined || shares === undefined) return { ...opened(), async close() {} }
    const { value, release } = shares.lease(`memory of ${tenant}`, opened, async () => undefined)
    return { ...value, close: release }
  },
}

function handleOf(clock: () => Date): Omit<StoreHandle, 'close'> {
  return {
    users: usersRole(clock),
    sessions: memorySessionStore(clock),
    tokens: memoryTokenStore(clock),
    oauthStates: memoryOAuthStates(clock),
    limiter: memoryLimiter(),
    // There is no connection, so the store is usable before `prepare`.
    async prepare() {},
    async ping() {},
  }
}

function usersRole(clock: () => Date): UsersRole {
  const outbox = memoryOutbox()
  let firstMark: string | null = null
  return {
    users: memoryUserStore(outbox),
    outbox,
    tokenRequests: memoryTokenRequests(),
    expiringIds: memoryExpiringIds(clock),
    async checkSecret(mark) {
      if (firstMark === null) {
        firstMark = mark
        return 'first'
      }
      return firstMark === mark ? 'same' : 'other'
    },
  }
}
