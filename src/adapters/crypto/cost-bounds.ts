/** Pairs of memory and passes of argon2id with equal strength (OWASP Password Storage Cheat Sheet, ASVS appendix C). */
export const leastCosts = [
  { memoryKiB: 47_104, timeCost: 1 },
  { memoryKiB: 19_456, timeCost: 2 },
  { memoryKiB: 12_288, timeCost: 3 },
  { memoryKiB: 9216, timeCost: 4 },
  { memoryKiB: 7168, timeCost: 5 },
]

/** No deployment's hashes cost more: a dearer one in the store is an attack on memory, or a mistake. */
export const greatestCost = { memoryKiB: 1024 * 1024, timeCost: 99 }
