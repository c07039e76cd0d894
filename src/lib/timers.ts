import { setTimeout as delay } from 'node:timers/promises'

/** The timers of this process. */
export const timers = {
  pause: (milliseconds: number): Promise<void> => delay(milliseconds),

  /** Calls `work` at this interval until the returned function is called. */
  every(milliseconds: number, work: () => void): () => void {
    const timer = setInterval(work, milliseconds)
    return () => clearInterval(timer)
  },
}
