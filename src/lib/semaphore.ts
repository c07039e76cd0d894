interface Waiting {
  end(isAcquired: boolean): void
}

/** Permits for so many at once; the others queue, first come, first served. */
export interface Semaphore {
  readonly waiting: number
  /** Resolves to whether there was a permit within this time. It has to be released in the end. */
  acquire(milliseconds: number): Promise<boolean>
  release(): void
  /** Gives no more permits; all that wait get none. */
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
          waiting.delete(one) // at once: a permit must not go to one whose time has ended
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
