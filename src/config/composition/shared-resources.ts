import type { HashPool } from '../../adapters/crypto/hash-pool.ts'
import { type Outbound, openOutbound } from '../../adapters/oauth/outbound.ts'
import type { Shares } from '../../adapters/stores/store-backend.ts'
import type { Subscribers } from '../../application/ports/event-handlers.ts'
import type { Logger } from '../runtime/log.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { LoadedTenants } from '../settings/tenants.ts'
import { openHashPool } from './hasher.ts'
import { openShares } from './shares.ts'

/** What all tenants of a process have in common. */
export interface Common {
  readonly log: Logger
  readonly clock: () => Date
  readonly shares: Shares
  readonly hashPool: HashPool
  readonly outbound: Outbound
  /** Prints a line of `handlers.console`, which ends in a newline. */
  readonly write: (line: string) => void | Promise<void>
  /** In place of those of the settings. */
  readonly subscribers?: Subscribers
  /** Whether there may be many tenants. */
  readonly isOneOfMany: boolean
}

/** What a process of ours is given, whether it serves or only delivers. */
export interface ProcessNeeds extends Pick<Common, 'log' | 'write'> {
  readonly settings: Settings
  readonly tenants?: LoadedTenants | null
  /** Something came up after the start that the process cannot live with: it has to end. */
  readonly failed: (fault: unknown) => void
  readonly clock?: () => Date
}

interface Needs extends Pick<Common, 'log' | 'write' | 'isOneOfMany'> {
  readonly settings: Settings
  readonly clock?: (() => Date) | undefined
  readonly subscribers?: Subscribers | undefined
}

export function openCommon({
  settings,
  log,
  write,
  isOneOfMany,
  clock = () => new Date(),
  subscribers,
}: Needs): Common {
  return {
    log,
    clock,
    write,
    isOneOfMany,
    shares: openShares(),
    hashPool: openHashPool(settings.passwords, { isShared: isOneOfMany }),
    outbound: openOutbound(),
    ...(subscribers && { subscribers }),
  }
}
