/**
 * The probability that a value of `one` is above a value of `other`; a tie counts half (Mann–Whitney's U over the number of
 * pairs). At 0.5 the samples cannot be told apart.
 */
export function distinguishability(one: readonly number[], other: readonly number[]): number {
  const sorted = [...other].sort((a, b) => a - b)
  let below = 0
  for (const value of one) below += (rank(sorted, value, false) + rank(sorted, value, true)) / 2
  return below / (one.length * other.length)
}

/** The number of sorted values below this one, or at most as large. */
function rank(sorted: readonly number[], value: number, orEqual: boolean): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const found = sorted[middle] ?? Number.NaN
    if (found < value || (orEqual && found === value)) low = middle + 1
    else high = middle
  }
  return low
}

/** The value below which this share of a sample lies, from 0 to 1. */
export function quantile(sample: readonly number[], share: number): number {
  const sorted = [...sample].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

export function median(sample: readonly number[]): number {
  return quantile(sample, 0.5)
}

/** The same things in random order. */
export function shuffled<T>(things: readonly T[]): T[] {
  return things
    .map((thing) => ({ thing, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ thing }) => thing)
}
