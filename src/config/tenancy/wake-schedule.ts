interface Needs {
  /** The names of those that are served and not open now. */
  readonly ids: () => readonly string[]
  readonly has: (id: string) => boolean
  /** Opens one for what is due in it. Rejects where it cannot be opened, which has been told. */
  readonly lookAfter: (id: string) => Promise<void>
  /** Between two rounds through all of them. */
  readonly pauseMilliseconds: () => number
  readonly clock: () => Date
}

/** Sees to it that what falls due in tenants that are closed is not forgotten. */
export interface ClosedTenants {
  /** From now on looks after all of them in rounds: others may have written what this process knows nothing of. */
  begin(): void
  /** One round more. */
  round(): Promise<void>
  /** Has one looked after when something falls due in it, which may be unknown. */
  setAlarm(id: string, due: Date | 'unknown'): void
  /** For one that is opened: it looks after itself. */
  clearAlarm(id: string): void
  /** Looks after no more of them. */
  end(): void
}

const lookedAfterAtOnce = 4
/** When a tenant is looked after again that could not be opened, or whose store did not say when. */
const againMilliseconds = 60_000
const longestTimerMilliseconds = 2 ** 31 - 1

export function closedTenants({ ids, has, lookAfter, pauseMilliseconds, clock }: Needs): ClosedTenants {
  const alarms = new Map<string, NodeJS.Timeout>()
  let nextRound: NodeJS.Timeout | undefined
  let isEnded = false

  function setAlarm(id: string, due: Date | 'unknown'): void {
    if (isEnded || !has(id)) return
    clearAlarm(id)
    const milliseconds = due === 'unknown' ? againMilliseconds : due.getTime() - clock().getTime()
    const wait = Math.min(Math.max(0, milliseconds), longestTimerMilliseconds)
    alarms.set(id, setTimeout(() => void look(id), wait).unref())
  }

  function clearAlarm(id: string): void {
    clearTimeout(alarms.get(id))
    alarms.delete(id)
  }

  async function look(id: string): Promise<void> {
    await lookAfter(id).catch(() => setAlarm(id, 'unknown'))
  }

  async function round(): Promise<void> {
    const waiting = [...ids()]
    const lanes = Array.from({ length: lookedAfterAtOnce }, async () => {
      for (let id = waiting.shift(); id !== undefined && !isEnded; id = waiting.shift()) await look(id)
    })
    await Promise.all(lanes)
  }

  async function roundAfterRound(): Promise<void> {
    await round()
    if (!isEnded) nextRound = setTimeout(() => void roundAfterRound(), pauseMilliseconds()).unref()
  }

  return {
    begin: () => void roundAfterRound(),
    round,
    setAlarm,
    clearAlarm,
    end() {
      isEnded = true
      clearTimeout(nextRound)
      for (const alarm of alarms.values()) clearTimeout(alarm)
    },
  }
}
