import type { EmailKey } from '../../domain/email.ts'
import type { RefusedLogin } from '../../domain/refused-login.ts'
import type { User } from '../../domain/user.ts'
import type { LookupNeeds } from '../administration/report-lookup.ts'
import type { LevelNeeds } from '../factors/level.ts'
import type { LimitState } from '../limits/read-limits.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { type Cause, causesOf, isBlocking } from './causes.ts'
import { refusedLoginsOf } from './note-refused.ts'
import { limitsOf, type OnTheWay, onTheWayTo, type StateNeeds } from './person-state.ts'

export interface ExplanationNeeds
  extends StateNeeds,
    FreshLoginNeeds,
    LevelNeeds,
    Omit<LookupNeeds, 'outbox' | 'clock'> {
  outbox: StateNeeds['outbox'] & LookupNeeds['outbox']
  /** Whether a way to log in demands a verified address. */
  demandsVerified: boolean
}

export interface LoginExplanation extends OnTheWay {
  /** `null`: nobody has the address. */
  readonly user: User | null
  /** Whether nothing stands in the way of a login with the right proofs now. */
  readonly canLogIn: boolean
  /** The likeliest first; at least one. */
  readonly causes: readonly Cause[]
  /** Of the last day, the latest first. They are kept for addresses without a user, too. */
  readonly refusals: readonly RefusedLogin[]
  readonly limits: readonly LimitState[]
  /** `null` if none was recorded. */
  readonly lastLoginAt: Date | null
}

/** @param user who has the address now; `null` if nobody has it */
export async function explanationOf(
  needs: ExplanationNeeds,
  account: EmailKey,
  user: User | null,
): Promise<LoginExplanation> {
  const [refusals, limits, onTheWay, lastLoginAt] = await Promise.all([
    refusedLoginsOf(needs, account),
    limitsOf(needs, account, user),
    onTheWayTo(needs, account, user),
    user === null ? null : needs.loginTimes.lastLogin(user.id),
  ])
  const { demandsVerified } = needs
  const { deliveries } = onTheWay
  const causes = causesOf(needs, {
    user,
    refusals,
    lastLoginAt,
    limits,
    deliveries,
    demandsVerified,
    now: needs.clock(),
  })
  return { user, canLogIn: !causes.some(isBlocking), causes, refusals, limits, lastLoginAt, ...onTheWay }
}
