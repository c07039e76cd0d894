const intervalMilliseconds = 1_000

interface Interval<Entry> {
  shown: Entry | null
  requests: number
}

interface Kind<Entry> {
  readonly kindOf: (entry: Entry) => string
  readonly write: (entry: Entry, requests: number) => void
  /** Whether a line shows `entry` instead of the earlier request `shown`. The default shows the first request. */
  readonly outranks?: (entry: Entry, shown: Entry) => boolean
}

/**
 * Logs requests of which an overload or a flood causes thousands per second. Each kind gets one line at once, and then one line
 * per second with the number of requests and one of them.
 */
export function countedLines<Entry>({ kindOf, write, outranks = () => false }: Kind<Entry>): (entry: Entry) => void {
  /** Requests since the last line, by kind. */
  const unlogged = new Map<string, Interval<Entry>>()

  function begin(kind: string, entry: Entry, requests: number): void {
    write(entry, requests)
    const next: Interval<Entry> = { shown: null, requests: 0 }
    unlogged.set(kind, next)
    setTimeout(() => {
      unlogged.delete(kind)
      if (next.shown !== null) begin(kind, next.shown, next.requests)
    }, intervalMilliseconds).unref()
  }

  return (entry) => {
    const kind = kindOf(entry)
    const since = unlogged.get(kind)
    if (since === undefined) return begin(kind, entry, 1)
    if (since.shown === null || outranks(entry, since.shown)) since.shown = entry
    since.requests += 1
  }
}
