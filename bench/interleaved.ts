import { setTimeout as delay } from 'node:timers/promises'
import type { Figure } from './measure.ts'
import { type Spread, spreadOf } from './statistics.ts'

/** Lets the service finish requests whose clients have gone. */
const settleMilliseconds = 1000

/** The load of the machine changes from minute to minute, so quiet and busy rounds alternate. */
export const interleavedRounds = 5

interface Interleaved {
  readonly quiet: Spread
  readonly busy: Spread
  /** The ratio of each busy round to the quiet round before it. */
  readonly ratio: Spread
}

/** Runs `measure` in turn without and with `work`, and compares the p99 in milliseconds. */
export async function interleaved(
  rounds: number,
  measure: () => Promise<Spread>,
  work: () => { readonly begun?: Promise<unknown>; readonly end: () => Promise<unknown> },
): Promise<Interleaved> {
  const pairs: { quiet: number; busy: number }[] = []
  for (let round = 0; round < Math.min(rounds, interleavedRounds); round++) {
    const quiet = await measure()
    const going = work()
    await going.begun
    const busy = await measure()
    await going.end()
    pairs.push({ quiet: quiet.p99, busy: busy.p99 })
    await delay(settleMilliseconds)
  }
  return {
    quiet: spreadOf(pairs.map(({ quiet }) => quiet)),
    busy: spreadOf(pairs.map(({ busy }) => busy)),
    ratio: spreadOf(pairs.map(({ quiet, busy }) => busy / quiet)),
  }
}

/** The line of the table. `goal` is the highest accepted median of the ratios. */
export function ratioFigure(what: string, { quiet, busy, ratio }: Interleaved, goal: number, note: string): Figure {
  return {
    what,
    value: `${busy.median.toFixed(1)} ms (${busy.min.toFixed(1)}–${busy.max.toFixed(1)})`,
    beside: `quiet ${quiet.median.toFixed(1)} ms; ${note}`,
    ratio: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
    goal: { text: `≤ ${goal}`, isMet: ratio.median <= goal },
  }
}
