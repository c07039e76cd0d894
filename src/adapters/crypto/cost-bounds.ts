/** Pairs of memory and passes of argon2id with equal strength (OWASP Password Storage Cheat Sheet, ASVS appendix C). */
const leastCosts = [
  { memoryKiB: 47_104, timeCost: 1 },
  { memoryKiB: 19_456, timeCost: 2 },
  { memoryKiB: 12_288, timeCost: 3 },
  { memoryKiB: 9216, timeCost: 4 },
  { memoryKiB: 7168, timeCost: 5 },
]

/** The fault of a cost that is too low for new hashes; `null` without one. */
export function costObjection({ memoryKiB, timeCost }: (typeof leastCosts)[number]) {
  if (leastCosts.some((one) => timeCost >= one.timeCost && memoryKiB >= one.memoryKiB)) return null
  const pairs = leastCosts.map((one) => `${one.memoryKiB} KiB with ${one.timeCost}`).join(', ')
  const option = memoryKiB < 19_456 ? ('memoryKiB' as const) : ('timeCost' as const)
  return { option, message: `is too low: at least ${pairs} passes, or more` }
}

/** The highest cost of a hash. A more expensive hash in the store is a mistake, or an attack on the memory. */
export const greatestCost = { memoryKiB: 1024 * 1024, timeCost: 99 }

/** The highest cost of an imported hash: 16 times that of fastapi-users, and of bcrypt about a second. */
export const greatestImportedCost = { memoryKiBTimesPasses: 16 * 65_536 * 3, bcrypt: 14 }
