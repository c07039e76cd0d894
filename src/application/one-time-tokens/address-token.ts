import type { AccountEvent } from '../../domain/events.ts'
import type { UserId } from '../../domain/ids.ts'
import { newAddressOf } from '../../domain/one-time-token.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

interface Needs {
  users: UserStore
  tokens: TokenStore
  keyRing: Pick<KeyRing, 'digest' | 'tokenFor'>
  clock: () => Date
  /** In seconds. */
  lifetimes: Readonly<Record<'verify_email', number>>
}

/**
 * The token that confirms a new address, the same at each delivery of its event. It replaces the token of an earlier event,
 * since the events of a user come in order. `null` if the change is void, or if the token would have expired.
 */
export async function addressToken(
  { users, tokens, keyRing, clock, lifetimes }: Needs,
  { id: eventId, fact, at }: Extract<AccountEvent, { type: 'verification_requested' }>,
  userId: UserId,
): Promise<string | null> {
  const expiresAt = new Date(at.getTime() + lifetimes.verify_email * 1000)
  const user = await users.find(userId)
  if (user === null || newAddressOf(fact, user) === null || expiresAt <= clock()) return null

  const purpose = 'change_email'
  const token = keyRing.tokenFor(purpose, eventId, userId, fact)
  await tokens.put({ purpose, userId, digest: keyRing.digest(token), eventId, fact, createdAt: at, expiresAt })
  return token
}
