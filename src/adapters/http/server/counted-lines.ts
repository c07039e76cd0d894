const intervalMilliseconds = 1_000

interface Interval<Entry> {
  first: Entry | null
  requests: number
}

/**
 * Logs requests of which an overload or a flood causes thousands per second. Each kind gets one line at once, and then one line
 * per second with the number of requests and the first request.
 */
export function countedLines<Entry>(
  kindOf: (entry: Entry) => string,
  write: (entry: Entry, requests: number) => void,
): (entry: Entry) => void {
  /** Requests since the last line, by kind. */
  const unlogged = new Map<string, Interval<Entry>>()

  function begin(kind: string, entry: Entry, requests: number): void {
    write(entry, requests)
    const next: Interval<Entry> = { first: null, requests: 0 }
    unlogged.set(kind, next)
    setTimeout(() => {
      unlogged.delete(kind)
      if (next.first !== null) begin(kind, next.first, next.requests)
    }, intervalMilliseconds).unref()
  }

  return (entry) => {
    const kind = kindOf(entry)
    const since = unlogged.get(kind)
    if (since === undefined) return begin(kind, entry, 1)
    since.first ??= entry
    since.requests += 1
  }
}
