import { type Email, emailKey } from '../../domain/email.ts'
import type { RefusedLogin } from '../../domain/refused-login.ts'
import type { User } from '../../domain/user.ts'
import { type LookupNeeds, reportLookup } from '../administration/report-lookup.ts'
import type { Undelivered } from '../deliveries/undelivered.ts'
import type { CausingRequest } from '../event-metadata.ts'
import type { LevelNeeds } from '../factors/level.ts'
import type { LimitState } from '../limits/read-limits.ts'
import type { Outbox } from '../ports/stores/outbox.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { requireSuperuser } from '../rights.ts'
import type { By } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { type Cause, causesOf } from './causes.ts'
import { limitsOf, onTheWayTo, refusalsOf, type StateNeeds } from './person-state.ts'

interface Needs extends StateNeeds, FreshLoginNeeds, LevelNeeds, Omit<LookupNeeds, 'outbox' | 'clock'> {
  outbox: Outbox
  users: Pick<UserStore, 'findByEmail'>
  /** Whether a way to log in demands a verified address. */
  demandsVerified: boolean
}

export interface LoginExplanation {
  /** `null`: nobody has the address. */
  readonly user: User | null
  /** The likeliest first; at least one. */
  readonly causes: readonly Cause[]
  /** Of the last day, the latest first. They are kept for addresses without a user, too. */
  readonly refusals: readonly RefusedLogin[]
  readonly limits: readonly LimitState[]
  readonly deliveries: readonly Undelivered[]
  /** `null` if none was recorded. */
  readonly lastLoginAt: Date | null
}

/** Tells why somebody with an address cannot log in. It changes nothing. */
export class ExplainLogin {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by a superuser, or the command or program that decides by itself */
  async execute({ by, email, ...request }: CausingRequest & { by: By; email: Email }): Promise<LoginExplanation> {
    const needs = this.#needs
    requireSuperuser(needs, by, { isChange: false })
    const account = emailKey(email)
    const user = await needs.users.findByEmail(account)
    if (user !== null) await reportLookup(needs, user, request, by)
    const [refusals, limits, onTheWay, lastLoginAt] = await Promise.all([
      refusalsOf(needs, account),
      limitsOf(needs, account, user),
      onTheWayTo(needs, account, user?.id ?? null),
      user === null ? null : needs.loginTimes.lastLogin(user.id),
    ])
    const { deliveries } = onTheWay
    const known = { user, refusals, lastLoginAt, limits, deliveries, demandsVerified: needs.demandsVerified }
    return { user, causes: causesOf(needs, known), refusals, limits, deliveries, lastLoginAt }
  }
}
