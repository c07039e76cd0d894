import type { EventId } from '../../domain/ids.ts'
import {
  factText,
  inviteSeconds,
  isFresh,
  isSameFact,
  type RequestPurpose,
  type TokenFact,
  type TokenPurpose,
} from '../../domain/one-time-token.ts'
import type { User } from '../../domain/user.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'

export interface IssueNeeds {
  tokens: TokenStore
  keyRing: KeyRing
  clock: () => Date
  /** In seconds. */
  lifetimes: Readonly<Record<RequestPurpose, number>>
}

interface Issue {
  readonly purpose: TokenPurpose
  readonly user: User
  /** The fact that the token is bound to. */
  readonly fact: TokenFact
  /** A new token is derived from it. */
  readonly eventId: EventId
  /** Whether the same token must be handed out as before. */
  readonly isRepeated: boolean
}

/** A token for a reset of the factors lives until the reset. */
function expiryOf({ lifetimes }: Pick<IssueNeeds, 'lifetimes'>, { purpose, fact }: Issue, now: Date): Date {
  if ('resetAt' in fact) return new Date(fact.resetAt)
  if (purpose === 'invite') return new Date(now.getTime() + inviteSeconds * 1000)
  return new Date(now.getTime() + lifetimes[purpose === 'reset_password' ? purpose : 'verify_email'] * 1000)
}

/**
 * Returns the user's current token for a repetition or while it is fresh, so attackers cannot invalidate the links of a
 * victim by further requests. Otherwise it makes a new one.
 */
export async function issueToken(needs: IssueNeeds, issue: Issue): Promise<{ token: string; expiresAt: Date }> {
  const { tokens, keyRing, clock } = needs
  const { purpose, user, fact, eventId, isRepeated } = issue
  const now = clock()

  const live = await tokens.current(purpose, user.id)
  if (live !== null && isSameFact(live.fact, fact) && (isRepeated || isFresh(live, now))) {
    const same = keyRing.tokenOf(live.digest, purpose, live.eventId, user.id, factText(fact))
    // Otherwise the secret was replaced, and the token cannot be told again.
    if (same !== null) return { token: same, expiresAt: live.expiresAt }
  }

  const made = keyRing.tokenFor(purpose, eventId, user.id, factText(fact))
  const expiresAt = expiryOf(needs, issue, now)
  await tokens.put({ purpose, userId: user.id, digest: keyRing.digest(made), eventId, fact, createdAt: now, expiresAt })
  return { token: made, expiresAt }
}
