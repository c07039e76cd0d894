import { setImmediate } from 'node:timers/promises'

/** Rows that one transaction changes at most: more would keep the other writes waiting. */
export const bulk = 500

/**
 * What a lease that found nothing answers. It took no lock and no time, so it lets the loop turn once: a caller
 * who asks again and again would otherwise keep everything else from happening.
 */
export async function nothingDue(): Promise<readonly never[]> {
  return setImmediate([])
}
