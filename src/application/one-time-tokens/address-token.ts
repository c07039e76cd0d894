import type { AccountEvent } from '../../domain/events.ts'
import type { UserId } from '../../domain/ids.ts'
import { newAddressOf } from '../../domain/one-time-token.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

interface Needs {
  users: UserStore
  tokens: TokenStore
  keyRing: Pick<KeyRing, 'tokenFor'>
}

/** The token that confirms the new address of an event; `null` if it is void, used or expired. */
export async function addressToken(
  { users, tokens, keyRing }: Needs,
  { fact }: Extract<AccountEvent, { type: 'verification_requested' }>,
  userId: UserId,
): Promise<string | null> {
  const token = await tokens.current('change_email', userId)
  const user = await users.find(userId)
  if (token?.fact !== fact || user === null || newAddressOf(fact, user) === null) return null
  return keyRing.tokenFor('change_email', token.eventId, userId, fact)
}
