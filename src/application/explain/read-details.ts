import { emailKey } from '../../domain/email.ts'
import type { User } from '../../domain/user.ts'
import { reportLookup } from '../administration/report-lookup.ts'
import type { RequestFacts } from '../event-metadata.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import { requireSuperuser } from '../rights.ts'
import type { By } from '../sign-in/authenticate.ts'
import { ListSessions, type SessionView } from '../sign-in/list-sessions.ts'
import { type ExplanationNeeds, explanationOf, type LoginExplanation } from './explanation.ts'
import { type LinkNeeds, linksOf, type OpenLink } from './person-state.ts'

interface Needs extends ExplanationNeeds, LinkNeeds {
  sessions: SessionStore
}

/** Everything about a user, for those who manage users, without secrets and tokens. */
export interface UserDetails extends LoginExplanation {
  readonly user: User
  /** The newest stored ones. */
  readonly sessions: readonly SessionView[]
  readonly links: readonly OpenLink[]
}

/** Reads the details of a user. It changes nothing. */
export class ReadDetails {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by a superuser, or the command or program that decides by itself */
  async execute({ by, target, ...request }: RequestFacts & { by: By; target: User }): Promise<UserDetails> {
    const needs = this.#needs
    requireSuperuser(needs, by, { isChange: false })
    const [explanation, sessions, links] = await Promise.all([
      explanationOf(needs, emailKey(target.email), target),
      new ListSessions(needs).execute({ by, target }),
      linksOf(needs, target),
    ])
    await reportLookup(needs, target, request, by) // last, because it is mail on the way, too
    return { ...explanation, user: target, sessions, links }
  }
}
