import { type Email, emailKey } from '../../domain/email.ts'
import { unique } from '../../domain/user-record.ts'
import { reportLookup } from '../administration/report-lookup.ts'
import type { RequestFacts } from '../event-metadata.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { requireSuperuser } from '../rights.ts'
import type { By } from '../sign-in/authenticate.ts'
import { type ExplanationNeeds, explanationOf, type LoginExplanation } from './explanation.ts'

interface Needs extends ExplanationNeeds {
  users: Pick<UserStore, 'findBy'>
}

/** Tells why somebody with an address cannot log in. It changes nothing. */
export class ExplainLogin {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.by a superuser, or the command or program that decides by itself */
  async execute({ by, email, ...request }: RequestFacts & { by: By; email: Email }): Promise<LoginExplanation> {
    const needs = this.#needs
    requireSuperuser(needs, by, { isChange: false })
    const account = emailKey(email)
    const user = await needs.users.findBy(unique.email(account))
    const explanation = await explanationOf(needs, account, user)
    if (user !== null) await reportLookup(needs, user, request, by) // last, because it is mail on the way, too
    return explanation
  }
}
