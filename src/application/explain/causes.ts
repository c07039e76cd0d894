import { emailKey } from '../../domain/email.ts'
import { codesRefusedUntil, hasFactor } from '../../domain/factors.ts'
import type { RefusedLogin, RefusedReason } from '../../domain/refused-login.ts'
import type { User } from '../../domain/user.ts'
import type { Undelivered } from '../deliveries/undelivered.ts'
import { isTooWeak, type LevelNeeds } from '../factors/level.ts'
import type { LimitState } from '../limits/read-limits.ts'

/** The codes of causes. They keep their meaning. */
export const causeCodes = [
  'no_account',
  'inactive',
  'mail_failed',
  'mail_waits',
  'not_verified',
  'limit_reached',
  'clock_was_ahead',
  'second_factor_wrong',
  'second_factor_asked',
  'factor_reset',
  'second_factor_missing',
  'wrong_password',
  'no_password',
  'no_way_in',
  'passkey_refused',
  'provider_not_linked',
  'provider_refused',
  'unavailable',
  'nothing_found',
] as const

export type CauseCode = (typeof causeCodes)[number]

/** A likely cause why somebody cannot log in. */
export interface Cause {
  readonly code: CauseCode
  /** The reason of a deactivation or of a mail server, the limit, or the provider; `null` if there is nothing to add. */
  readonly detail: string | null
  /** When it ends by itself; `null` if it does not. */
  readonly until: Date | null
  /** The number of refused logins of this kind in the last day. */
  readonly count: number
}

const blocking: ReadonlySet<CauseCode> = new Set([
  'no_account',
  'inactive',
  'not_verified',
  'limit_reached',
  'no_way_in',
])

/**
 * Whether a cause refuses a login with the right proofs now. A message that is not delivered does not. A limit of a refused login
 * may have ended; one that counts has an end.
 */
export function isBlocking({ code, until }: Cause): boolean {
  return blocking.has(code) && (code !== 'limit_reached' || until !== null)
}

interface Known {
  /** `null`: nobody has the address. */
  readonly user: User | null
  readonly refusals: readonly RefusedLogin[]
  /** `null` if none was recorded. */
  readonly lastLoginAt: Date | null
  readonly limits: readonly LimitState[]
  readonly deliveries: readonly Undelivered[]
  /** Whether a way to log in demands a verified address. */
  readonly demandsVerified: boolean
  readonly now: Date
}

/** The cause that a refusal points to; `null` if the account itself tells it, or there is nothing to do. */
const causeOf: Readonly<Record<RefusedReason, CauseCode | null>> = {
  wrong_password: 'wrong_password',
  no_password: 'no_password',
  unknown_address: null,
  inactive: null, // The account may be active again.
  not_verified: 'not_verified',
  limit_reached: 'limit_reached',
  unavailable: 'unavailable',
  second_factor_asked: 'second_factor_asked',
  second_factor_wrong: 'second_factor_wrong',
  second_factor_outdated: 'second_factor_asked',
  passkey_refused: 'passkey_refused',
  provider_not_linked: 'provider_not_linked',
  provider_refused: 'provider_refused',
  login_ended: null,
}

/** Messages with a link that somebody may wait for. */
const withLink: ReadonlySet<string> = new Set(['reset_requested', 'verification_requested', 'invited'])

/** The likely causes, the likeliest first: what stands in the way now, and then the latest refusals. */
export function causesOf(needs: LevelNeeds, known: Known): readonly Cause[] {
  const { user, lastLoginAt } = known
  // Somebody who has logged in since can do so.
  const isLater = ({ at }: { readonly at: Date }): boolean => lastLoginAt === null || at > lastLoginAt
  const refusals = known.refusals.filter(isLater)
  const deliveries = known.deliveries.filter(isLater)
  const refused = refusals.flatMap((refusal) => {
    const code = codeOf(refusal)
    if (code === null || (code === 'not_verified' && user?.isVerified === true)) return []
    if (code === 'no_password' && user !== null && hasNoWayIn(user)) return []
    // Each wrong factor was asked for before.
    if (code === 'second_factor_asked' && refusals.some((one) => one.reason === 'second_factor_wrong')) return []
    const count = refusals.filter((one) => codeOf(one) === code && one.detail !== pause).length
    return [cause(code, { detail: refusal.detail, count })]
  })
  const all =
    user === null
      ? [cause('no_account'), ...refused]
      : [...standing(user, { ...known, deliveries }), ...refused, ...missing(needs, user, known)]
  const first = all.filter(({ code }, at) => all.findIndex((one) => one.code === code) === at)
  return first.length === 0 ? [cause('nothing_found')] : first
}

/** A pause follows wrong passwords, which are the cause. */
function codeOf({ reason, detail }: RefusedLogin): CauseCode | null {
  return detail === pause ? 'wrong_password' : causeOf[reason]
}

const pause = 'passwordsBeforePauses'

/** The causes that refuse every login, or keep back the link that would help. */
function standing(user: User, { limits, deliveries, now }: Known): readonly Cause[] {
  // A message to a former address keeps nobody waiting.
  const isToUser = ({ email }: Undelivered): boolean => email !== null && emailKey(email) === emailKey(user.email)
  const failed = deliveries.find((one) => one.reason !== null && withLink.has(one.type) && isToUser(one))
  const reached = limits.find(({ isReached, purpose }) => isReached && purpose === null)
  const { totp } = user.factors
  const behind = totp && codesRefusedUntil(totp, now)
  return [
    ...(user.isActive ? [] : [cause('inactive', { detail: user.inactiveReason, until: user.inactiveUntil })]),
    ...(failed === undefined
      ? []
      : [cause(failed.state === 'dead' ? 'mail_failed' : 'mail_waits', { detail: failed.reason })]),
    ...(hasNoWayIn(user) ? [cause('no_way_in')] : []),
    ...(reached === undefined ? [] : [cause('limit_reached', { detail: reached.limit, until: reached.until })]),
    ...(behind === null ? [] : [cause('clock_was_ahead', { until: behind })]),
  ]
}

/** As somebody who was invited and has not chosen a password yet. */
const hasNoWayIn = ({ passwordHash, oauthAccounts, factors: { passkeys } }: User): boolean =>
  passwordHash === null && oauthAccounts.length === 0 && passkeys.length === 0

/** The proofs that the user lacks for some ways to log in. */
function missing(needs: LevelNeeds, user: User, { demandsVerified }: Known): readonly Cause[] {
  const { resetAt } = user.factors
  const isTooLow = isTooWeak(needs, { user, credential: { methods: [] } }) && !hasFactor(user)
  return [
    // A first password by a link also verifies the address.
    ...(demandsVerified && !user.isVerified && !hasNoWayIn(user) ? [cause('not_verified')] : []),
    ...(hasFactor(user) && resetAt !== null ? [cause('factor_reset', { until: new Date(resetAt) })] : []),
    ...(isTooLow ? [cause('second_factor_missing')] : []),
  ]
}

function cause(code: CauseCode, more: Partial<Omit<Cause, 'code'>> = {}): Cause {
  return { code, detail: null, until: null, count: 0, ...more }
}
