interface Needs {
  /** The enabled tenants that are not open now. */
  readonly closed: () => readonly string[]
  readonly isClosed: (id: string) => boolean
  /** Opens a tenant and delivers its due events. Rejects when it cannot be opened. */
  readonly wake: (id: string) => Promise<void>
  /** The pause between two rounds through all closed tenants. */
  readonly pauseMilliseconds: () => number
  readonly clock: () => Date
}

const concurrentWakes = 4
const unknownMilliseconds = 60_000
const longestTimerMilliseconds = 2 ** 31 - 1

/** Wakes closed tenants when events in them fall due. */
export function wakeSchedule({ closed, isClosed, wake, pauseMilliseconds, clock }: Needs) {
  const timers = new Map<string, NodeJS.Timeout>()
  let nextRound: NodeJS.Timeout | undefined
  let isStopped = false

  /** Wakes a tenant at the time `due`, or in a minute. */
  function set(id: string, due: Date | 'unknown'): void {
    if (isStopped || !isClosed(id)) return
    clear(id)
    const milliseconds = due === 'unknown' ? unknownMilliseconds : due.getTime() - clock().getTime()
    const wait = Math.min(Math.max(0, milliseconds), longestTimerMilliseconds)
    timers.set(id, setTimeout(() => void attempt(id), wait).unref())
  }

  /** Forgets the time of a tenant. An open tenant delivers by itself. */
  function clear(id: string): void {
    clearTimeout(timers.get(id))
    timers.delete(id)
  }

  async function attempt(id: string): Promise<void> {
    await wake(id).catch(() => set(id, 'unknown'))
  }

  async function round(): Promise<void> {
    const waiting = [...closed()]
    const queues = Array.from({ length: concurrentWakes }, async () => {
      for (let id = waiting.shift(); id !== undefined && !isStopped; id = waiting.shift()) await attempt(id)
    })
    await Promise.all(queues)
  }

  /** Wakes all closed tenants in rounds, because other processes may have written events. */
  async function roundAfterRound(): Promise<void> {
    await round()
    if (!isStopped) nextRound = setTimeout(() => void roundAfterRound(), pauseMilliseconds()).unref()
  }

  return {
    start: () => void roundAfterRound(),
    round,
    set,
    clear,
    stop() {
      isStopped = true
      clearTimeout(nextRound)
      for (const timer of timers.values()) clearTimeout(timer)
    },
  }
}
