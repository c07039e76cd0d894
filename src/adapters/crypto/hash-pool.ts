import { Unavailable } from '../../domain/refusal.ts'

/** What a job of the pool answered, and when it ran. */
export interface Ran<T> {
  readonly value: T
  /** By the pool's clock: when the job began, not when it was asked for. */
  readonly beganAt: number
  readonly tookMs: number
}

interface How {
  /** How long it may be expected to wait for its turn; `maxWaitSeconds` unless it is said here. */
  readonly patienceSeconds?: number
  /** Whether the moment in which its result is there matters: then it is never kept. */
  readonly isTimed?: boolean
}

/** Where the jobs of one tenant wait, in order of asking. */
export interface HashQueue {
  /**
   * Runs `job` when its turn has come and as many permits are free as it has lanes (all of them, when it has more).
   * Throws `Unavailable` at once when the wait would be longer than `patienceSeconds`. While many wait in this queue and
   * nobody in another, what a job came to may be kept until three more of it are done, for a tenth of a second at the
   * most.
   */
  run<T>(lanes: number, job: () => Promise<T>, how?: How): Promise<Ran<T>>
}

export interface HashPool {
  /** The clock of `Ran.beganAt`, in milliseconds. */
  readonly monotonic: () => number
  /** A queue for one tenant; the pool holds it only while somebody waits in it. Queues take turns, a job each. */
  queue(): HashQueue
}

interface Options {
  /** Permits: how many lanes may compute at the same time. */
  readonly size: number
  /** How long a job may be expected to wait for its turn, unless it says otherwise. */
  readonly maxWaitSeconds: number
  /**
   * Whether there may be several tenants. Then the jobs of one may fill half of what may be waited for, so that those
   * it has let in are in time still when another comes with as many; and while many of its jobs wait, it leaves a
   * permit to the others, who need not wait even for the job in hand.
   */
  readonly isShared?: boolean
  /** Milliseconds since any fixed moment. */
  readonly monotonic?: () => number
}

interface Job {
  readonly permits: number
  readonly begin: () => void
}

/** A queue as the pool sees it. */
interface Line {
  readonly jobs: Job[]
  /** Of all its jobs that wait. */
  permits: number
  /** Of those that run. */
  held: number
  /** Grows from turn to turn, of whichever queue; 0 before the first. */
  lastTurn: number
  /** Of its own jobs: tenants may hash at different costs. */
  meanCostMs: number | null
}

/** What a job is taken to cost before the first has been measured. */
const assumedCostMs = 30
/** Share of the newest measurement in the mean. */
const weight = 0.1
/**
 * How many results of a queue are handed over together while twice as many of its jobs wait. A hash writes megabytes
 * through the processors' caches, and what answers a request finds none of its own there: of several in a row only the
 * first reads it from memory again. As network cards coalesce interrupts; some 3 % more logins on two processors.
 */
const handedOverTogether = 4
/** What that spares is no more when hashes are dearer, and the first of them waits for the last one. */
const longestKeptSeconds = 0.1
/** Of what may be waited for: how much of it one tenant may fill where there are several … */
const ownShare = 1 / 2
/** … and from how much on it leaves a permit to the others. */
const floodShare = 1 / 4

/**
 * Keeps hashing from starving everything else: argon2 and bcrypt compute on libuv's few threads, which file
 * system, DNS and zlib share, so that more jobs at once bring no throughput and make all others wait.
 */
export function hashPool(options: Options): HashPool {
  const { size, maxWaitSeconds, isShared = false, monotonic = () => performance.now() } = options
  if (!Number.isSafeInteger(size) || size < 1) throw new RangeError('a hash pool needs at least one permit')
  /** Those in which somebody waits; first the one whose last turn is longest ago. */
  const waiting: Line[] = []
  /** Lets go of a result that is kept; of one queue alone. */
  const kept: (() => void)[] = []
  let latest: NodeJS.Timeout | undefined
  let free = size
  let turns = 0

  /** A flood's queue has just had a turn, whenever it is: who comes now and then is before it. */
  const lineUp = (line: Line): void => {
    const later = waiting.findIndex(({ lastTurn }) => lastTurn > line.lastTurn)
    waiting.splice(later < 0 ? waiting.length : later, 0, line)
  }

  const take = (line: Line, permits: number): void => {
    free -= permits
    line.held += permits
    turns += 1
    line.lastTurn = turns
  }

  const giveBack = (line: Line, permits: number): void => {
    free += permits
    line.held -= permits
    admit()
  }

  const secondsOf = ({ meanCostMs }: Line, permits: number, on = size): number =>
    ((meanCostMs ?? assumedCostMs) * permits) / on / 1000

  const ownSize = isShared ? Math.max(1, size - 1) : size
  const ownSeconds = (line: Line, permits: number): number => secondsOf(line, permits, ownSize)

  /** Until its next job but those that wait has had its turn, every other queue has had at most as many. */
  const secondsOfOthers = (line: Line): number => {
    const turnsUntilThen = line.jobs.length + 1
    let seconds = 0
    for (const other of waiting) {
      if (other === line) continue
      seconds += secondsOf(other, other.permits) * Math.min(1, turnsUntilThen / other.jobs.length)
    }
    return seconds
  }

  const turn = (line: Line, permits: number, patienceSeconds: number): Promise<void> => {
    const own = ownSeconds(line, line.permits + permits)
    const waitSeconds = own + secondsOfOthers(line)
    if (waitSeconds > patienceSeconds || (isShared && own > patienceSeconds * ownShare)) {
      throw new Unavailable('password hashing', { retryAfterSeconds: Math.ceil(waitSeconds) })
    }
    line.permits += permits
    return new Promise((begin) => {
      line.jobs.push({ permits, begin })
      if (line.jobs.length === 1) lineUp(line)
      if (waiting.length > 1) handOver()
      admit()
    })
  }

  /** Whether what it asks for is left to others: never all of it, so that it goes on whatever they do. */
  const isLeft = (line: Line, permits: number): boolean =>
    isShared && line.held > 0 && permits >= free && ownSeconds(line, line.permits) > maxWaitSeconds * floodShare

  /** Whoever is first waits for its permits, however many: a job of many lanes is not overtaken for ever. */
  const nextInTurn = (): { readonly line: Line; readonly job: Job } | null => {
    for (const line of waiting) {
      const [job] = line.jobs
      if (job === undefined || isLeft(line, job.permits)) continue
      return job.permits <= free ? { line, job } : null
    }
    return null
  }

  const admit = (): void => {
    for (let next = nextInTurn(); next !== null; next = nextInTurn()) {
      const { line, job } = next
      waiting.splice(waiting.indexOf(line), 1)
      line.jobs.shift()
      line.permits -= job.permits
      take(line, job.permits)
      if (line.jobs.length > 0) lineUp(line)
      job.begin()
    }
  }

  const handOver = (): void => {
    clearTimeout(latest)
    for (const go of kept.splice(0)) go()
  }

  /** Those that wait may turn out to be dearer than the mean of those before them. */
  const keep = (): Promise<void> => {
    if (kept.length === 0) latest = setTimeout(handOver, longestKeptSeconds * 1000)
    return new Promise((go) => kept.push(go))
  }

  /** Otherwise what it waits for would wait for others' turns, or for jobs of which one takes as long as several. */
  const isAlone = (line: Line, permits: number): boolean =>
    waiting.length === 1 && line.held === size - free && permits === 1

  return {
    monotonic,
    queue() {
      const line: Line = { jobs: [], permits: 0, held: 0, lastTurn: 0, meanCostMs: null }
      /** Whoever is kept is let go by one of those that wait, all of whom come by, or by who lines up beside them. */
      const handedOver = (permits: number, isTimed: boolean): Promise<void> | void => {
        const mayWait =
          !isTimed &&
          line.jobs.length >= 2 * handedOverTogether &&
          isAlone(line, permits) &&
          secondsOf(line, handedOverTogether - 1) <= longestKeptSeconds
        if (mayWait && kept.length + 1 < handedOverTogether) return keep()
        handOver()
      }
      const learn = (tookMs: number): void => {
        const { meanCostMs } = line
        line.meanCostMs = meanCostMs === null ? tookMs : meanCostMs + (tookMs - meanCostMs) * weight
      }
      return {
        async run(lanes, job, { patienceSeconds = maxWaitSeconds, isTimed = false } = {}) {
          const permits = Math.min(lanes, size)
          if (waiting.length === 0 && permits <= free) take(line, permits)
          else await turn(line, permits, patienceSeconds)
          try {
            const beganAt = monotonic()
            const value = await job()
            const tookMs = monotonic() - beganAt
            learn(tookMs)
            return { value, beganAt, tookMs }
          } finally {
            giveBack(line, permits)
            await handedOver(permits, isTimed)
          }
        },
      }
    },
  }
}
