import type { OpenOptions, StoreBackend, StoreHandle, UsersRole } from '../store-backend.ts'
import { memoryExpiringIds } from './expiring-ids.ts'
import { memoryOAuthStates } from './oauth-states.ts'
import { memoryOutbox } from './outbox.ts'
import { memorySessionStore } from './sessions.ts'
import { memoryTokenRequests } from './token-requests.ts'
import { memoryTokenStore } from './tokens.ts'
import { memoryUserStore } from './users.ts'

/**
 * Keeps everything in the process, for trials and tests: nothing outlives it, and no other process sees it. Each
 * operation is decided in one turn of the event loop, which is what makes it atomic. Each opening is a new, empty one.
 */
export const memoryBackend: StoreBackend = {
  kind: 'memory',
  roles: ['users', 'sessions', 'tokens'],
  protocols: [],

  async open({ clock }: OpenOptions): Promise<StoreHandle> {
    return {
      users: usersRole(clock),
      sessions: memorySessionStore(clock),
      tokens: memoryTokenStore(clock),
      oauthStates: memoryOAuthStates(clock),
      // There is nothing to connect to and nothing that could be down: it is usable before `prepare`, too.
      async prepare() {},
      async ping() {},
      async close() {},
    }
  },
}

function usersRole(clock: () => Date): UsersRole {
  const outbox = memoryOutbox(clock)
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
