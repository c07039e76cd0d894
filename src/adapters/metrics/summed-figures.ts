import { AggregatorRegistry, type Registry } from 'prom-client'

/** The figures of one process at one time. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** A process that does not answer a scrape within this time counts with its last figures. */
const waitMilliseconds = 2_000

/**
 * The figures of several processes as one scrape. The counts of a process that has ended stay in the sums, because Prometheus
 * would take a smaller sum for a new beginning and count the rest again.
 *
 * @param ask asks the processes, which are then `heard`; returns their ids, of which there is at least one
 */
export function summedFigures(ask: () => readonly number[]) {
  const last = new Map<number, Figures>()
  const waiting = new Set<() => void>()
  let heardOf = new Set<number>()
  let ofEnded: Figures = []

  function heard(id: number, figures: Figures): void {
    last.set(id, figures)
    heardOf.add(id)
    for (const look of waiting) look()
  }

  function ended(id: number): void {
    const counts = (last.get(id) ?? []).filter(({ type }) => String(type) !== 'gauge')
    last.delete(id)
    heardOf.add(id)
    // Safe: an aggregated metric has the fields of the metrics that it was made from.
    ofEnded = AggregatorRegistry.aggregate([ofEnded, counts]).getMetricsAsArray() as unknown as Figures
    for (const look of waiting) look()
  }

  async function metrics(): Promise<string> {
    const asked = ask()
    if (asked.length === 0) throw new Error('no process serves')
    heardOf = new Set()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, waitMilliseconds)
      function done(): void {
        clearTimeout(timer)
        waiting.delete(look)
        resolve()
      }
      function look(): void {
        if (asked.every((id) => heardOf.has(id))) done()
      }
      waiting.add(look)
    })
    return AggregatorRegistry.aggregate([...last.values(), ofEnded]).metrics()
  }

  return { heard, ended, metrics, contentType: AggregatorRegistry.PROMETHEUS_CONTENT_TYPE }
}
