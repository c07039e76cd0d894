import { largestNetworkOf } from '../../domain/client-networks.ts'
import { LimitReached } from '../../domain/refusal.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { Limiter } from '../ports/stores/limiter.ts'

interface Needs {
  limiter: Limiter
  keyRing: Pick<KeyRing, 'counterKey'>
  maxSingleUseRecords: number
}

/** The longest lifetime of a record that works once. */
const openSeconds = 300

/** The part of `maxSingleUseRecords` that one IPv4 address or IPv6 /48 may have open. */
const part = 1 / 8

/**
 * Counts an open record of a client, so that no network of clients can fill the store. Throws `LimitReached` if its share is
 * used up.
 *
 * @param client `null` if unknown; unknown clients have no share of their own
 * @returns the counter, for the end of the record
 */
export async function takeShare(needs: Needs, client: string | null): Promise<string | null> {
  if (client === null) return null
  const network = largestNetworkOf(client)
  const counter = `single-use:${needs.keyRing.counterKey(network)}`
  const { points, expiresIn } = await needs.limiter.add(counter, 1, openSeconds)
  if (points <= Math.ceil(needs.maxSingleUseRecords * part)) return counter
  await giveBackShare(needs, counter)
  throw new LimitReached('security.maxSingleUseRecords', expiresIn / 1000, network)
}

export async function giveBackShare({ limiter }: Pick<Needs, 'limiter'>, counter: string | null): Promise<void> {
  if (counter !== null) await limiter.add(counter, -1, openSeconds)
}
