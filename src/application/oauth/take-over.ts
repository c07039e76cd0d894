import type { Actor } from '../../domain/actor.ts'
import { type AccountEvent, type UserChanges, updatedEvent } from '../../domain/events.ts'
import { withoutUnverified } from '../../domain/factors.ts'
import { withVouchedAccounts } from '../../domain/linked-accounts.ts'
import { endSessions, type User, withPassword } from '../../domain/user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'

/**
 * Gives the account to the proved owner of its address. An attacker may have created the account, so its password, sessions
 * and links are removed, and the second factors that were added before the address was verified (Sudhodanan and Paverd, "Pre-hijacked accounts", 2022).
 */
export function takeOver(
  needs: MetadataNeeds,
  request: RequestFacts,
  by: Actor,
  before: User,
): { readonly user: User; readonly events: readonly AccountEvent[] } {
  const { user: vouched, dropped } = withVouchedAccounts({ ...before, isOwnerProved: true })
  const hadPassword = before.passwordHash !== null
  const trusted = withoutUnverified(vouched)
  if (!hadPassword && dropped.length === 0 && trusted === null) return { user: vouched, events: [] }

  const kept = trusted ?? vouched
  const user = endSessions(hadPassword ? withPassword(kept, null) : kept, needs.clock())
  const changes: UserChanges[] = dropped.map((link) => ({ oauthUnlinked: link }))
  if (hadPassword) changes.unshift({ passwordRemoved: true })
  if (trusted !== null) changes.push({ factorRemoved: 'all' })
  const events = changes.map((one) =>
    updatedEvent(user, one, eventMetadata(needs, request, by), { sessionsEnded: true }),
  )
  return { user, events }
}
