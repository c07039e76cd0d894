interface Waiting {
  end(isAcquired: boolean): void
}

export type Semaphore = ReturnType<typeof semaphore>

/** A semaphore with a FIFO queue. */
export function semaphore(permits: number) {
  const waiting = new Set<Waiting>()
  let free = permits
  let isClosed = false

  function queue(milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => one.end(false), milliseconds)
      const one: Waiting = {
        end(isAcquired) {
          clearTimeout(timer)
          waiting.delete(one) // so that `release` gives it no permit
          resolve(isAcquired)
        },
      }
      waiting.add(one)
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
      else next.end(true)
    },

    /** Refuses all waiting and later callers. */
    close() {
      isClosed = true
      for (const one of [...waiting]) one.end(false)
    },
  }
}
