/** Pairs of memory and passes of argon2id with equal strength (OWASP Password Storage Cheat Sheet, ASVS appendix C). */
const leastCosts = [
  { memoryKiB: 47_104, timeCost: 1 },
  { memoryKiB: 19_456, timeCost: 2 },
  { memoryKiB: 12_288, timeCost: 3 },
  { memoryKiB: 9216, timeCost: 4 },
  { memoryKiB: 7168, timeCost: 5 },
]

/**
 * The highest costs of a hash: 128 MiB, four times memory and passes of fastapi-users, and bcrypt of about a second. A refused login
 * takes as long as the dearest hash in the store, so one dearer hash would slow every login down.
 */
export const greatestCost = {
  memoryKiB: 131_072,
  timeCost: 99,
  memoryKiBTimesPasses: 4 * 65_536 * 3,
  lanes: 16,
  bcrypt: 14,
}

/** The fault of a cost that new hashes may not have; `null` without one. */
export function costObjection({ memoryKiB, timeCost }: (typeof leastCosts)[number]) {
  const most = greatestCost.memoryKiBTimesPasses
  if (memoryKiB * timeCost > most) {
    return { option: 'timeCost' as const, message: `is too high: at most ${most} KiB of memory, times the passes` }
  }
  if (leastCosts.some((one) => timeCost >= one.timeCost && memoryKiB >= one.memoryKiB)) return null
  const pairs = leastCosts.map((one) => `${one.memoryKiB} KiB with ${one.timeCost}`).join(', ')
  const option = memoryKiB < 19_456 ? ('memoryKiB' as const) : ('timeCost' as const)
  return { option, message: `is too low: at least ${pairs} passes, or more` }
}
