import { type AccountEvent, happened, type UserChanges } from '../../domain/events.ts'
import { withVouchedAccounts } from '../../domain/oauth-account.ts'
import { endSessions, type User, withoutPassword } from '../../domain/user.ts'
import { type OccasionNeeds, occasion } from '../event-metadata.ts'

/**
 * The owner of the address has come through a provider that vouches for it. Somebody else may have begun the account:
 * their password, sessions and links go (Sudhodanan and Paverd, "Pre-hijacked accounts", 2022).
 */
export function takeOver(
  needs: OccasionNeeds,
  requestId: string,
  before: User,
): { readonly user: User; readonly events: readonly AccountEvent[] } {
  const { user: vouched, dropped } = withVouchedAccounts({ ...before, isOwnerProved: true })
  const hadPassword = before.passwordHash !== null
  if (!hadPassword && dropped.length === 0) return { user: vouched, events: [] }

  const user = endSessions(hadPassword ? withoutPassword(vouched) : vouched, needs.clock())
  const changes: UserChanges[] = dropped.map(({ provider, accountEmail }) => ({
    oauthUnlinked: { provider, accountEmail },
  }))
  if (hadPassword) changes.unshift({ passwordRemoved: true })
  const events = changes.map((one) => ({
    ...happened('updated', user, occasion(needs, requestId)),
    changes: one,
    sessionsEnded: true,
  }))
  return { user, events }
}
