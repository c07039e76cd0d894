import type { DueWork } from '../../application/ports/due-work.ts'
import { inTime } from '../../lib/timers.ts'

export interface DeliveryLoopOptions {
  readonly work: DueWork
  /** The interval of polls. */
  readonly pollSeconds: number
  /** Each pause is shortened at random by up to this share. */
  readonly jitter?: number
  readonly clock: () => Date
  /** Called with the first of several faults in a row; the loop goes on, more slowly. */
  readonly failed: (fault: unknown) => void
  /** Called with the first success after faults. */
  readonly recovered: () => void
}

export interface DeliveryLoop {
  /** Resolves after the first poll, successful or not, or when the loop stops before it. */
  readonly firstLook: Promise<void>
  wake(): void
  /** Starts nothing more, waits at most `graceSeconds` for running work, and releases the rest. */
  stop(graceSeconds: number): Promise<void>
}

/** The shortest pause between two polls of a store, unless the loop is woken. */
const minPauseSeconds = 0.05
const maxFaultPauseSeconds = 2

/** Runs due work until it is stopped: when woken, when work falls due, and at each poll. */
export function deliveryLoop(options: DeliveryLoopOptions): DeliveryLoop {
  const { work, pollSeconds, jitter = 0, clock, failed, recovered } = options
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | null = null
  let isWoken = false
  let isStopped = false
  let faultsInARow = 0
  const firstLook = Promise.withResolvers<void>()

  function lookIn(seconds: number): void {
    clearTimeout(timer)
    if (!isStopped) timer = setTimeout(look, seconds * 1000)
  }

  function look(): void {
    looking = lookOnce().then((pauseSeconds) => {
      looking = null
      firstLook.resolve()
      lookIn(isWoken && faultsInARow === 0 ? 0 : pauseSeconds)
    })
  }

  async function lookOnce(): Promise<number> {
    isWoken = false
    const poll = pollSeconds * (1 - jitter * Math.random())
    try {
      await work.startDue(wake)
      const due = await work.nextDue()
      if (faultsInARow > 0) recovered()
      faultsInARow = 0
      const untilDue = due === null ? poll : (due.getTime() - clock().getTime()) / 1000
      return Math.max(minPauseSeconds, Math.min(poll, untilDue))
    } catch (fault) {
      if (faultsInARow === 0) failed(fault)
      faultsInARow += 1
      return Math.max(poll, Math.min(maxFaultPauseSeconds, poll * 2 ** faultsInARow))
    }
  }

  function wake(): void {
    isWoken = true
    if (looking === null && faultsInARow === 0) lookIn(0)
  }

  lookIn(0)
  return {
    firstLook: firstLook.promise,
    wake,
    async stop(graceSeconds) {
      isStopped = true
      clearTimeout(timer)
      if (looking === null) firstLook.resolve()
      const finished = Promise.resolve(looking).then(() => work.idle())
      await inTime(finished, graceSeconds * 1000)
      await work.giveBack()
    },
  }
}
