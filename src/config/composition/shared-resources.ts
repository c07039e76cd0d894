import { type Argon2Hasher, argon2Hasher } from '../../adapters/crypto/argon2-hasher.ts'
import { defaultHashConcurrency, type HashPool, hashPool } from '../../adapters/crypto/hash-pool.ts'
import type { Logger } from '../../adapters/logging/log.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import type { Figures } from '../../adapters/metrics/summed-figures.ts'
import { type Outbound, openOutbound } from '../../adapters/oauth/outbound.ts'
import { openShares, type Shares } from '../../adapters/stores/store-backend.ts'
import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { LoadedTenants } from '../settings/tenants.ts'
import { outboundProxy } from './outbound-proxy.ts'

export type { Figures }

/** Tells the figures of this process to a process that adds them up. Returns the function that tells them for the last time. */
export type SharedFigures = (registry: Metrics['registry']) => () => Promise<void>

/** The resources that all tenants of a process share. */
export interface SharedResources {
  readonly log: Logger
  readonly clock: () => Date
  readonly shares: Shares
  readonly hashPool: HashPool
  readonly outbound: Outbound
  /** `null` if nothing is measured. */
  readonly metrics: Metrics | null
  /** Prints a line of `handlers.console`, which ends in a newline. */
  readonly write: (line: string) => void | Promise<void>
  /** Replaces the handlers of the settings. */
  readonly eventHandlers?: EventHandlers | undefined
  /** Whether the process may open many tenants. */
  readonly isOneOfMany: boolean
}

/** The needs of a service or a worker. */
export interface ProcessNeeds extends Pick<SharedResources, 'log' | 'write'> {
  readonly settings: Settings
  readonly tenants: LoadedTenants
  /** Called when a fault after the start has to end the process. */
  readonly failed: (fault: unknown) => void
  readonly clock?: () => Date
  /** The number of processes that serve together; by default 1. */
  readonly processes?: number
  /** Given where several processes share one port of figures. */
  readonly sharedFigures?: SharedFigures
}

/** A service or a worker. */
export interface RunningProcess {
  /** Applies changed tenants. Returns them, and tenants whose events no worker can reach are disabled. */
  reload(tenants: LoadedTenants): Promise<LoadedTenants>
  /** Ends running deliveries, releases the other leases and closes the stores. */
  stop(): Promise<void>
}

type Needs = Pick<ProcessNeeds, 'settings' | 'log' | 'write' | 'clock' | 'processes'> &
  Pick<SharedResources, 'eventHandlers' | 'metrics'>

export function openSharedResources(needs: Needs): SharedResources {
  const { settings, log, write, clock = () => new Date(), eventHandlers, metrics, processes = 1 } = needs
  return {
    log,
    clock,
    write,
    isOneOfMany: settings.tenants.by !== undefined,
    shares: openShares(processes),
    hashPool: openHashPool(settings.passwords),
    outbound: openOutbound(undefined, outboundProxy(process.env)),
    metrics,
    eventHandlers,
  }
}

/** One per process, because argon2 computes in libuv's threads, which other work needs, too. */
export function openHashPool({
  concurrency,
  maxWaitSeconds,
}: Pick<Settings['passwords'], 'concurrency' | 'maxWaitSeconds'>): HashPool {
  const threads = Number(process.env.UV_THREADPOOL_SIZE)
  const threadPoolSize = Number.isInteger(threads) && threads > 0 ? threads : null
  return hashPool({ size: concurrency ?? defaultHashConcurrency(threadPoolSize), maxWaitSeconds })
}

export interface PasswordHasherOptions {
  /** Hashes at the same time; by default the number of processors, but fewer than libuv has threads. */
  readonly concurrency?: number
  /** A hash that would wait longer than this throws `Unavailable`. */
  readonly maxWaitSeconds?: number
  /** Memory of one hash. `memoryKiB` and `timeCost` must reach a minimum of OWASP's Password Storage Cheat Sheet. */
  readonly memoryKiB?: number
  readonly timeCost?: number
  readonly parallelism?: number
}

/** Argon2id (RFC 9106); it also verifies older hashes of argon2 and bcrypt. Create one per process. */
export function passwordHasher(options: PasswordHasherOptions = {}): Argon2Hasher {
  const { concurrency, maxWaitSeconds = 5, ...cost } = options
  const pool = openHashPool({ maxWaitSeconds, ...(concurrency !== undefined && { concurrency }) })
  return argon2Hasher({ pool, ...cost })
}

/** One per tenant: each tenant has its own cost of a hash, and its own queue. */
export function openHasher({ passwords }: Pick<Settings, 'passwords'>, pool: HashPool): Argon2Hasher {
  const { memoryKiB, timeCost, parallelism } = passwords
  return argon2Hasher({ pool, memoryKiB, timeCost, parallelism })
}
