import { setTimeout as delay } from 'node:timers/promises'
import type { Figure } from './measure.ts'
import { type Spread, spreadOf } from './statistics.ts'

/** For what still waits when its clients have gone. */
const settleMilliseconds = 1000

/** How busy the machine is with other things changes from minute to minute: what is compared is measured in turn. */
export const interleavedRounds = 5

interface Interleaved {
  readonly quiet: Spread
  readonly busy: Spread
  /** Of each busy round to the quiet one before it. */
  readonly ratio: Spread
}

/** `measure` while nothing happens and while `work` goes on, in turn: the p99 of each, in milliseconds. */
export async function interleaved(
  rounds: number,
  measure: () => Promise<Spread>,
  work: () => { readonly end: () => Promise<unknown> },
): Promise<Interleaved> {
  const pairs: { quiet: number; busy: number }[] = []
  for (let round = 0; round < Math.min(rounds, interleavedRounds); round++) {
    const quiet = await measure()
    const going = work()
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

/** The line of the table, when the median of the ratios may be at most `goal`. */
export function ratioFigure(what: string, { quiet, busy, ratio }: Interleaved, goal: number, note: string): Figure {
  return {
    what,
    value: `${busy.median.toFixed(1)} ms (${busy.min.toFixed(1)}–${busy.max.toFixed(1)})`,
    beside: `quiet ${quiet.median.toFixed(1)} ms; ${note}`,
    ratio: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
    goal: { text: `≤ ${goal}`, isMet: ratio.median <= goal },
  }
}
