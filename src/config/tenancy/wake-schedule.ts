interface Needs {
  /** The enabled tenants that are not open now. */
  readonly closed: () => readonly string[]
  readonly isClosed: (id: string) => boolean
  /** Opens a tenant and delivers what is due in it. Rejects when it cannot be opened. */
  readonly wake: (id: string) => Promise<void>
  /** Between two rounds through all closed tenants. */
  readonly pauseMilliseconds: () => number
  readonly clock: () => Date
}

/** Wakes closed tenants when events in them fall due. */
export interface WakeSchedule {
  /** From now on wakes all closed tenants in rounds: other processes may have written events. */
  start(): void
  /** One round more. */
  round(): Promise<void>
  /** Wakes a tenant when its next event falls due, or in a minute when the time is unknown. */
  set(id: string, due: Date | 'unknown'): void
  /** For a tenant that is opened: it delivers by itself. */
  clear(id: string): void
  stop(): void
}

const wokenAtOnce = 4
const unknownMilliseconds = 60_000
const longestTimerMilliseconds = 2 ** 31 - 1

export function wakeSchedule({ closed, isClosed, wake, pauseMilliseconds, clock }: Needs): WakeSchedule {
  const timers = new Map<string, NodeJS.Timeout>()
  let nextRound: NodeJS.Timeout | undefined
  let isStopped = false

  function set(id: string, due: Date | 'unknown'): void {
    if (isStopped || !isClosed(id)) return
    clear(id)
    const milliseconds = due === 'unknown' ? unknownMilliseconds : due.getTime() - clock().getTime()
    const wait = Math.min(Math.max(0, milliseconds), longestTimerMilliseconds)
    timers.set(id, setTimeout(() => void attempt(id), wait).unref())
  }

  function clear(id: string): void {
    clearTimeout(timers.get(id))
    timers.delete(id)
  }

  async function attempt(id: string): Promise<void> {
    await wake(id).catch(() => set(id, 'unknown'))
  }

  async function round(): Promise<void> {
    const waiting = [...closed()]
    const lanes = Array.from({ length: wokenAtOnce }, async () => {
      for (let id = waiting.shift(); id !== undefined && !isStopped; id = waiting.shift()) await attempt(id)
    })
    await Promise.all(lanes)
  }

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
