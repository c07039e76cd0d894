import { type OneTimeToken, stands, type TokenPurpose } from '../../domain/one-time-token.ts'
import type { User } from '../../domain/user.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

export interface RedeemNeeds {
  users: UserStore
  tokens: TokenStore
  keyRing: KeyRing
}

/** Finds a valid token and its user. `null`: unknown, expired, replaced, for another purpose, or its fact has changed. */
export async function findRedeemable(
  { users, tokens, keyRing }: RedeemNeeds,
  purpose: TokenPurpose,
  value: string,
): Promise<{ token: OneTimeToken; user: User } | null> {
  const token = await tokens.find(purpose, keyRing.digest(value))
  if (token === null) return null
  const user = await users.find(token.userId)
  return user !== null && stands(token, user) ? { token, user } : null
}

/**
 * Removes a used token. A failure is harmless: the fact of a reset or a new address has changed, and the sink `sessions`
 * removes the used token of a verification.
 */
export async function discard(
  { tokens }: Pick<RedeemNeeds, 'tokens'>,
  token: Pick<OneTimeToken, 'purpose' | 'digest'>,
): Promise<void> {
  await tokens.remove(token.purpose, token.digest).catch(() => undefined)
}
