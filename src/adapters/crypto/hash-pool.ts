import { Unavailable } from '../../domain/refusal.ts'

/** What a job of the pool answered, and when it ran. */
export interface Ran<T> {
  readonly value: T
  /** By the pool's clock: when the job began, not when it was asked for. */
  readonly beganAt: number
  readonly tookMs: number
}

export interface HashPool {
  /**
   * Runs `job` when as many permits are free as it has lanes (all of them, when it has more), in order of asking.
   * Throws `Unavailable` at once when the wait would be longer than `patienceSeconds`.
   */
  run<T>(lanes: number, job: () => Promise<T>, patienceSeconds?: number): Promise<Ran<T>>
}

interface Options {
  /** Permits: how many lanes may compute at the same time. */
  readonly size: number
  /** How long a job may be expected to wait for its turn, unless it says otherwise. */
  readonly maxWaitSeconds: number
  /** Milliseconds since any fixed moment. */
  readonly monotonic: () => number
}

/** What a job is taken to cost before the first has been measured. */
const assumedCostMs = 30
/** Share of the newest measurement in the mean. */
const weight = 0.1

/**
 * Keeps hashing from starving everything else: argon2 and bcrypt compute on libuv's few threads, which file
 * system, DNS and zlib share, so that more jobs at once bring no throughput and make all others wait.
 */
export function hashPool({ size, maxWaitSeconds, monotonic }: Options): HashPool {
  if (!Number.isSafeInteger(size) || size < 1) throw new RangeError('a hash pool needs at least one permit')
  const waiting: { readonly permits: number; readonly begin: () => void }[] = []
  let waitingPermits = 0
  let free = size
  let meanCostMs: number | null = null

  const learn = (tookMs: number): void => {
    meanCostMs = meanCostMs === null ? tookMs : meanCostMs + (tookMs - meanCostMs) * weight
  }

  const turn = (permits: number, patienceSeconds: number): Promise<void> => {
    const waitSeconds = ((meanCostMs ?? assumedCostMs) * (waitingPermits + permits)) / size / 1000
    if (waitSeconds > patienceSeconds) {
      throw new Unavailable('password hashing', { retryAfterSeconds: Math.ceil(waitSeconds) })
    }
    waitingPermits += permits
    return new Promise((begin) => waiting.push({ permits, begin }))
  }

  /** Strictly in order: a job of many lanes is not overtaken for ever by jobs of one. */
  const admit = (): void => {
    for (let next = waiting[0]; next !== undefined && next.permits <= free; next = waiting[0]) {
      waiting.shift()
      waitingPermits -= next.permits
      free -= next.permits
      next.begin()
    }
  }

  return {
    async run(lanes, job, patienceSeconds = maxWaitSeconds) {
      const permits = Math.min(lanes, size)
      if (waiting.length === 0 && permits <= free) free -= permits
      else await turn(permits, patienceSeconds)
      try {
        const beganAt = monotonic()
        const value = await job()
        const tookMs = monotonic() - beganAt
        learn(tookMs)
        return { value, beganAt, tookMs }
      } finally {
        free += permits
        admit()
      }
    },
  }
}
