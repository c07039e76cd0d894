const intervalMilliseconds = 1_000

interface Failed {
  readonly requestId: string
  readonly tenant: unknown
  readonly client: unknown
  readonly err: Error
}

interface Interval {
  first: Failed | null
  requests: number
}

/**
 * Logs requests that are answered 503 or 429. An overload or a flood causes thousands of them per second. So each cause gets
 * one line at once, and then one line per second with the number of requests and the first request.
 */
export function countedLines(write: (failed: Failed, requests: number) => void): (failed: Failed) => void {
  /** Requests since the last line, by the message of their error. */
  const unlogged = new Map<string, Interval>()

  function begin(failed: Failed, requests: number): void {
    write(failed, requests)
    const cause = failed.err.message
    const next: Interval = { first: null, requests: 0 }
    unlogged.set(cause, next)
    setTimeout(() => {
      unlogged.delete(cause)
      if (next.first !== null) begin(next.first, next.requests)
    }, intervalMilliseconds).unref()
  }

  return (failed) => {
    const since = unlogged.get(failed.err.message)
    if (since === undefined) return begin(failed, 1)
    since.first ??= failed
    since.requests += 1
  }
}
