interface Needs {
  /** The ids of all sleepers. */
  readonly asleep: () => readonly string[]
  readonly isAsleep: (id: string) => boolean
  /** Wakes the sleeper with this id, which then does its due work. If this rejects, it is repeated in a minute. */
  readonly wake: (id: string) => Promise<void>
  /** The pause between two rounds through all sleepers. */
  readonly pauseMilliseconds: () => number
  readonly clock: () => Date
}

const concurrentWakes = 4
const unknownMilliseconds = 60_000
const longestTimerMilliseconds = 2 ** 31 - 1

/** Wakes each sleeper at its time, and all sleepers in rounds. */
export function wakeSchedule({ asleep, isAsleep, wake, pauseMilliseconds, clock }: Needs) {
  const timers = new Map<string, NodeJS.Timeout>()
  let nextRound: NodeJS.Timeout | undefined
  let isStopped = false

  /** Wakes the sleeper at the time `due`, or in a minute. */
  function set(id: string, due: Date | 'unknown'): void {
    if (isStopped || !isAsleep(id)) return
    clear(id)
    const milliseconds = due === 'unknown' ? unknownMilliseconds : due.getTime() - clock().getTime()
    const wait = Math.min(Math.max(0, milliseconds), longestTimerMilliseconds)
    timers.set(id, setTimeout(() => void attempt(id), wait).unref())
  }

  /** Forgets the time of a sleeper that is awake now. */
  function clear(id: string): void {
    clearTimeout(timers.get(id))
    timers.delete(id)
  }

  async function attempt(id: string): Promise<void> {
    await wake(id).catch(() => set(id, 'unknown'))
  }

  async function round(): Promise<void> {
    const waiting = [...asleep()]
    const queues = Array.from({ length: concurrentWakes }, async () => {
      for (let id = waiting.shift(); id !== undefined && !isStopped; id = waiting.shift()) await attempt(id)
    })
    await Promise.all(queues)
  }

  /** Repeats the rounds, because other processes may have made work due. */
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
