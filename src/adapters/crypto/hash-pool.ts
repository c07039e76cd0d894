import { availableParallelism } from 'node:os'
import { largestNetworkOf } from '../../domain/client-networks.ts'
import { LimitReached, Unavailable } from '../../domain/refusal.ts'

export type HashPool = ReturnType<typeof hashPool>

interface Options {
  /** The number of permits. Each lane that computes needs one. */
  readonly size: number
  readonly maxWaitSeconds: number
  /** Milliseconds since any fixed moment. */
  readonly monotonic?: () => number
}

interface RunOptions {
  readonly maxWaitSeconds?: number
  readonly client?: string | null
}

interface Job {
  readonly permits: number
  readonly start: () => void
}

/** A client with waiting jobs, first in, first out. All clients of an IPv6 /48 count as one. */
interface Client {
  readonly name: string | null
  readonly jobs: Job[]
}

/** The clients of a tenant with waiting jobs, in the order of their turns. */
type TenantQueue = Client[]

/** The share of the greatest wait that the waiting jobs of one client may cost. */
const shareOfClient = 1 / 4
/** The estimated cost of a job before the pool has measured one. */
const assumedCostMs = 30
/** Share of the newest measurement in the moving average. */
const weight = 0.1

/**
 * Bounds how many hashes are computed at once: argon2 and bcrypt run on libuv's few threads, which file system, DNS and
 * zlib share.
 */
export function hashPool({ size, maxWaitSeconds, monotonic = () => performance.now() }: Options) {
  /** The tenants with waiting jobs, in the order of their turns. */
  const waiting: TenantQueue[] = []
  let free = size
  let running = 0
  const refused = { overload: 0, client: 0 }
  let meanCostMs: number | null = null

  function secondsOf(jobs: readonly Pick<Job, 'permits'>[]): number {
    const lanes = jobs.reduce((sum, job) => sum + job.permits, 0)
    return (lanes * (meanCostMs ?? assumedCostMs)) / size / 1000
  }

  /** The jobs that begin before the next one of `client`: tenants take turns, and so do the clients of each. */
  function jobsBefore(tenant: TenantQueue, client: Client): readonly Job[] {
    const turns = client.jobs.length + 1
    const ofTenant = tenant.flatMap((other) => (other === client ? other.jobs : other.jobs.slice(0, turns)))
    const ofOthers = waiting.filter((other) => other !== tenant).map((other) => inTurns(other))
    return [...ofTenant, ...ofOthers.flatMap((jobs) => jobs.slice(0, ofTenant.length + 1))]
  }

  function turnOf(tenant: TenantQueue, name: string | null, permits: number, mostSeconds: number): Promise<void> {
    const client = tenant.find((one) => one.name === name) ?? { name, jobs: [] }
    const ofClient = secondsOf([...client.jobs, { permits }])
    if (name !== null && client.jobs.length > 0 && ofClient > mostSeconds * shareOfClient) {
      refused.client++
      throw new LimitReached('passwords.maxWaitSeconds', ofClient, name)
    }
    const waitSeconds = secondsOf([...jobsBefore(tenant, client), { permits }])
    if (waitSeconds > mostSeconds) {
      refused.overload++
      throw new Unavailable('password hashing', { retryAfterSeconds: Math.ceil(waitSeconds) })
    }
    return new Promise((start) => {
      if (tenant.length === 0) waiting.push(tenant)
      if (client.jobs.length === 0) tenant.push(client)
      client.jobs.push({ permits, start })
    })
  }

  /** The next job waits until all its permits are free. Otherwise jobs with fewer lanes could overtake it for ever. */
  function startNext(): void {
    for (;;) {
      const tenant = waiting[0]
      const client = tenant?.[0]
      const job = client?.jobs[0]
      if (tenant === undefined || client === undefined || job === undefined || job.permits > free) return
      waiting.shift()
      tenant.shift()
      client.jobs.shift()
      if (client.jobs.length > 0) tenant.push(client)
      if (tenant.length > 0) waiting.push(tenant)
      free -= job.permits
      job.start()
    }
  }

  return {
    monotonic,

    /** The jobs that wait and run now, and the refusals by the limit of the pool (`overload`) or of one client. */
    figures: () => ({
      waiting: waiting.flat().reduce((sum, { jobs }) => sum + jobs.length, 0),
      running,
      refused: { ...refused },
    }),

    /** A queue for one tenant. The queues take turns, one job each, and so do the clients of a queue. */
    queue() {
      const tenant: TenantQueue = []
      return {
        /**
         * Runs `job` once as many permits are free as it has lanes; a job with more lanes than the pool has permits takes
         * all of them. Throws `Unavailable` at once when the expected wait exceeds `maxWaitSeconds`, by default that of
         * the pool, and `LimitReached` when the waiting jobs of its client would cost a quarter of it. Unknown clients
         * (`null`) take turns as one, without that limit. `beganAt` is the time at which the job began, by `monotonic`.
         */
        async run<T>(lanes: number, job: () => Promise<T>, options: RunOptions = {}) {
          const { client = null, maxWaitSeconds: mostSeconds = maxWaitSeconds } = options
          const permits = Math.min(lanes, size)
          if (waiting.length === 0 && permits <= free) free -= permits
          else await turnOf(tenant, client && largestNetworkOf(client), permits, mostSeconds)
          running++
          try {
            const beganAt = monotonic()
            const value = await job()
            const tookMs = monotonic() - beganAt
            meanCostMs = meanCostMs === null ? tookMs : meanCostMs + (tookMs - meanCostMs) * weight
            return { value, beganAt, tookMs }
          } finally {
            running--
            free += permits
            startNext()
          }
        },
      }
    },
  }
}

/** The jobs of a tenant in the order in which they begin. */
function inTurns(tenant: TenantQueue): readonly Job[] {
  const rounds = Math.max(0, ...tenant.map(({ jobs }) => jobs.length))
  return Array.from({ length: rounds }, (_, round) => tenant.flatMap(({ jobs }) => jobs.slice(round, round + 1))).flat()
}

/** libuv's own default. */
const defaultThreadPoolSize = 4
/** Threads of libuv's pool that hashing leaves to file system, DNS and zlib. */
const sparedThreads = 2

/**
 * The number of hashes to compute at once: one for each processor, and fewer than libuv has threads.
 *
 * @param threadPoolSize the value of `UV_THREADPOOL_SIZE`; `null` when it is not set
 */
export function defaultHashConcurrency(threadPoolSize: number | null): number {
  return Math.max(1, Math.min(availableParallelism(), (threadPoolSize ?? defaultThreadPoolSize) - sparedThreads))
}
