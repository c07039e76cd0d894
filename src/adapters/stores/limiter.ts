/** The bound of a store's counters. */
export const maxCounters = 100_000

/** The number of additions after which a process removes the oldest counters, in a store where that takes time. */
export const additionsPerTrim = (bound: number): number => Math.ceil(bound / 100)
