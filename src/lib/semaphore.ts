/** A semaphore with a FIFO queue. */
export function semaphore(permits: number) {
  const waiting = new Set<(isAcquired: boolean) => void>()
  let free = permits
  let isClosed = false

  function queue(milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => end(false), milliseconds)
      const end = (isAcquired: boolean): void => {
        clearTimeout(timer)
        waiting.delete(end) // so that `release` gives it no permit
        resolve(isAcquired)
      }
      waiting.add(end)
    })
  }

  return {
    get waiting() {
      return waiting.size
    },

    /** Resolves to `true` with a permit, which the caller releases, or to `false` after this time. */
    async acquire(milliseconds: number) {
      if (isClosed) return false
      if (free === 0) return queue(milliseconds)
      free--
      return true
    },

    release() {
      const [next] = waiting
      if (next === undefined) free++
      else next(true)
    },

    /** Refuses all waiting and later callers. */
    close() {
      isClosed = true
      for (const end of [...waiting]) end(false)
    },
  }
}
