import { availableParallelism } from 'node:os'
import { Unavailable } from '../../domain/refusal.ts'

export type HashPool = ReturnType<typeof hashPool>

/** The jobs of one tenant, first in, first out. */
export type HashQueue = ReturnType<HashPool['queue']>

interface Options {
  /** Permits: how many lanes may compute at the same time. */
  readonly size: number
  readonly maxWaitSeconds: number
  /** Milliseconds since any fixed moment. */
  readonly monotonic?: () => number
}

interface Job {
  readonly permits: number
  readonly start: () => void
}

/** The estimated cost of a job before the pool has measured one. */
const assumedCostMs = 30
/** Share of the newest measurement in the moving average. */
const weight = 0.1

/**
 * Bounds how many hashes are computed at once: argon2 and bcrypt run on libuv's few threads, which file system, DNS and
 * zlib share.
 */
export function hashPool({ size, maxWaitSeconds, monotonic = () => performance.now() }: Options) {
  /** The queues with waiting jobs, in the order of their turns. */
  const waiting: Job[][] = []
  let free = size
  let meanCostMs: number | null = null

  function expectedWaitSeconds(queue: readonly Job[], permits: number): number {
    const turns = queue.length + 1
    // The queues take turns, so every other queue gets as many turns as this one before this job.
    const before = waiting.flatMap((other) => (other === queue ? other : other.slice(0, turns)))
    const lanes = before.reduce((sum, job) => sum + job.permits, permits)
    return (lanes * (meanCostMs ?? assumedCostMs)) / size / 1000
  }

  function turnOf(queue: Job[], permits: number, mostSeconds: number): Promise<void> {
    const waitSeconds = expectedWaitSeconds(queue, permits)
    if (waitSeconds > mostSeconds) {
      throw new Unavailable('password hashing', { retryAfterSeconds: Math.ceil(waitSeconds) })
    }
    return new Promise((start) => {
      if (queue.length === 0) waiting.push(queue)
      queue.push({ permits, start })
    })
  }

  /** The next job waits until all its permits are free. Otherwise jobs with fewer lanes could overtake it for ever. */
  function startNext(): void {
    for (;;) {
      const queue = waiting[0]
      const job = queue?.[0]
      if (queue === undefined || job === undefined || job.permits > free) return
      waiting.shift()
      queue.shift()
      if (queue.length > 0) waiting.push(queue)
      free -= job.permits
      job.start()
    }
  }

  return {
    monotonic,

    /** A queue for one tenant. The queues take turns, one job each. */
    queue() {
      const queue: Job[] = []
      return {
        /**
         * Runs `job` once as many permits are free as it has lanes; a job with more lanes than the pool has permits takes
         * all of them. Throws `Unavailable` at once when the expected wait exceeds `maxWaitSeconds`, by default that of
         * the pool. `beganAt` is the time at which the job began, by `monotonic`.
         */
        async run<T>(lanes: number, job: () => Promise<T>, options: { readonly maxWaitSeconds?: number } = {}) {
          const permits = Math.min(lanes, size)
          if (waiting.length === 0 && permits <= free) free -= permits
          else await turnOf(queue, permits, options.maxWaitSeconds ?? maxWaitSeconds)
          try {
            const beganAt = monotonic()
            const value = await job()
            const tookMs = monotonic() - beganAt
            meanCostMs = meanCostMs === null ? tookMs : meanCostMs + (tookMs - meanCostMs) * weight
            return { value, beganAt, tookMs }
          } finally {
            free += permits
            startNext()
          }
        },
      }
    },
  }
}

/** libuv's own default. */
const defaultThreadPoolSize = 4
/** Threads of libuv's pool that hashing leaves to file system, DNS and zlib. */
const sparedThreads = 2

/**
 * How many hashes to compute at once: one for each processor, and never all of libuv's threads.
 *
 * @param threadPoolSize the value of `UV_THREADPOOL_SIZE`; `null` when it is not set
 */
export function defaultHashConcurrency(threadPoolSize: number | null): number {
  return Math.max(1, Math.min(availableParallelism(), (threadPoolSize ?? defaultThreadPoolSize) - sparedThreads))
}
