import type { ExpiringMarks } from '../../application/ports/stores/expiring-marks.ts'
import type { Limiter } from '../../application/ports/stores/limiter.ts'
import type { LoginTimes } from '../../application/ports/stores/login-times.ts'
import type { Outbox } from '../../application/ports/stores/outbox.ts'
import type { RefusedLogins } from '../../application/ports/stores/refused-logins.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { SingleUseRecords } from '../../application/ports/stores/single-use-records.ts'
import type { TenantTexts } from '../../application/ports/stores/tenant-texts.ts'
import type { TokenRequests } from '../../application/ports/stores/token-requests.ts'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import type { UserIds } from '../../application/ports/stores/user-ids.ts'
import type { UserStore } from '../../application/ports/stores/user-store.ts'

/**
 * The ports that a store offers, each for one kind of record. A new kind of record is a port here, its entry in `storePorts`,
 * a suite in `testing/store-suites.ts` and a file in each store that offers it.
 */
export interface StorePorts {
  readonly users?: UserStore
  readonly outbox?: Outbox
  readonly tokenRequests?: TokenRequests
  readonly expiringMarks?: ExpiringMarks
  readonly tenantTexts?: TenantTexts
  /** Without it, the users have UUIDs. */
  readonly userIds?: UserIds
  readonly loginTimes?: LoginTimes
  readonly sessions?: SessionStore
  readonly tokens?: TokenStore
  readonly singleUseRecords?: SingleUseRecords
  /** The counters of limits. Without it, each process counts for itself. */
  readonly limiter?: Limiter
  /** The last refused logins, beside the counters. Without it, each process keeps those of its own. */
  readonly refusedLogins?: RefusedLogins
}

export type PortName = keyof StorePorts

interface PortFacts<Port> {
  /** The label of the records in the metrics. */
  readonly records: string
  /** Every method of the port. */
  readonly methods: { readonly [Method in keyof Port]: 'read' | 'write' }
}

export const storePorts: { readonly [Name in PortName]-?: PortFacts<Required<StorePorts>[Name]> } = {
  users: {
    records: 'users',
    methods: {
      find: 'read',
      findBy: 'read',
      insert: 'write',
      replace: 'write',
      remove: 'write',
      list: 'read',
      search: 'read',
      count: 'read',
      passwordSchemes: 'read',
    },
  },
  outbox: {
    records: 'events',
    methods: {
      append: 'write',
      distribute: 'write',
      lease: 'write',
      renew: 'write',
      settle: 'write',
      postpone: 'write',
      bury: 'write',
      release: 'write',
      nextDue: 'read',
      list: 'read',
      count: 'read',
      countBySink: 'read',
      revive: 'write',
      discard: 'write',
      sweepDead: 'write',
    },
  },
  tokenRequests: {
    records: 'token_requests',
    methods: {
      ask: 'write',
      lease: 'write',
      bind: 'write',
      postpone: 'write',
      settle: 'write',
      sweep: 'write',
      bury: 'write',
      list: 'read',
      count: 'read',
      revive: 'write',
      discard: 'write',
      sweepDead: 'write',
    },
  },
  expiringMarks: {
    records: 'expiring_ids',
    methods: { add: 'write', claim: 'write', has: 'read', list: 'read', sweep: 'write' },
  },
  tenantTexts: {
    records: 'secret_mark',
    methods: { read: 'read', exchange: 'write' },
  },
  userIds: { records: 'user_ids', methods: { keep: 'write', kept: 'read', next: 'write', skip: 'write' } },
  loginTimes: { records: 'login_times', methods: { recordLogin: 'write', lastLogin: 'read' } },
  sessions: {
    records: 'sessions',
    methods: {
      put: 'write',
      find: 'read',
      recordUse: 'write',
      remove: 'write',
      listOf: 'read',
      removeAllOf: 'write',
      sweep: 'write',
    },
  },
  tokens: {
    records: 'tokens',
    methods: { put: 'write', find: 'read', current: 'read', remove: 'write', removeAllOf: 'write', sweep: 'write' },
  },
  singleUseRecords: { records: 'oauth_states', methods: { put: 'write', take: 'write', sweep: 'write' } },
  limiter: { records: 'limits', methods: { add: 'write', clear: 'write' } },
  refusedLogins: { records: 'refused_logins', methods: { add: 'write', list: 'read', sweep: 'write' } },
}

// Safe: its type has exactly these keys.
export const portNames = Object.keys(storePorts) as readonly PortName[]
