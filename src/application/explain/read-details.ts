import { emailKey } from '../../domain/email.ts'
import type { RefusedLogin } from '../../domain/refused-login.ts'
import type { User } from '../../domain/user.ts'
import { type LookupNeeds, reportLookup } from '../administration/report-lookup.ts'
import type { CausingRequest } from '../event-metadata.ts'
import type { LimitState } from '../limits/read-limits.ts'
import type { Outbox } from '../ports/stores/outbox.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import { requireSuperuser } from '../rights.ts'
import type { By } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { ListSessions, type SessionView } from '../sign-in/list-sessions.ts'
import {
  type LinkNeeds,
  limitsOf,
  linksOf,
  type OnTheWay,
  type OpenLink,
  onTheWayTo,
  refusalsOf,
  type StateNeeds,
} from './person-state.ts'

interface Needs extends StateNeeds, LinkNeeds, FreshLoginNeeds, Omit<LookupNeeds, 'outbox' | 'clock'> {
  outbox: Outbox
  sessions: SessionStore
}

/** The state of a user beside the record, for superusers. */
export interface UserDetails extends OnTheWay {
  /** `null` if none was recorded. */
  readonly lastLoginAt: Date | null
  /** The newest stored ones. */
  readonly sessions: readonly SessionView[]
  readonly links: readonly OpenLink[]
  readonly limits: readonly LimitState[]
  /** Of the last day, the latest first. */
  readonly refusals: readonly RefusedLogin[]
}

/** Reads the details of a user, without secrets and tokens. */
export class ReadDetails {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by a superuser, or the command or program that decides by itself */
  async execute({ by, target, ...request }: CausingRequest & { by: By; target: User }): Promise<UserDetails> {
    const needs = this.#needs
    requireSuperuser(needs, by, { isChange: false })
    await reportLookup(needs, target, request, by)
    const account = emailKey(target.email)
    const [lastLoginAt, sessions, links, limits, refusals, onTheWay] = await Promise.all([
      needs.loginTimes.lastLogin(target.id),
      new ListSessions(needs).execute({ by, target }),
      linksOf(needs, target),
      limitsOf(needs, account, target),
      refusalsOf(needs, account),
      onTheWayTo(needs, account, target.id),
    ])
    return { lastLoginAt, sessions, links, limits, refusals, ...onTheWay }
  }
}
