interface Waiting {
  end(isAcquired: boolean): void
}

/** A semaphore with a FIFO queue. */
export interface Semaphore {
  readonly waiting: number
  /** Resolves to `true` with a permit, which the caller releases, or to `false` after this time. */
  acquire(milliseconds: number): Promise<boolean>
  release(): void
  /** Refuses all waiting and later callers. */
  close(): void
}

export function semaphore(permits: number): Semaphore {
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

    async acquire(milliseconds) {
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

    close() {
      isClosed = true
      for (const one of [...waiting]) one.end(false)
    },
  }
}
