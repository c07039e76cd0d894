import { eventually } from '../eventually.ts'

export const withMetrics = { PORTCULLIS_METRICS__PORT: '0' }

/** The address that the log names; `null` when there is none. */
export function metricsUrlIn(logLines: readonly string[]): string | null {
  const line = logLines.find((line) => line.includes('"metrics are served"'))
  return line === undefined ? null : JSON.parse(line).url
}

/** The values of a scrape by their series, such as `portcullis_tenants{state="open"}`. */
export type Scrape = ReadonlyMap<string, number>

export async function scrape(logLines: readonly string[]): Promise<Scrape> {
  const url = metricsUrlIn(logLines)
  if (url === null) throw new Error('no metrics are served')
  const response = await fetch(url)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`)
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))]
    }),
  )
}

/** Scrapes until a series has this value, because an answer reaches its client before it is counted. */
export async function counted(logLines: readonly string[], series: string, value: number): Promise<void> {
  await eventually(`${series} ${value}`, async () => (await scrape(logLines)).get(series) === value)
}
