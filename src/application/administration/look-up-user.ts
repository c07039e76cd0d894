import type { User } from '../../domain/user.ts'
import type { RequestFacts } from '../event-metadata.ts'
import { requireSuperuser } from '../rights.ts'
import type { By } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { type LookupNeeds, reportLookup } from './report-lookup.ts'

/** Reports that a superuser or a command reads one user, or the sessions of one. */
export class LookUpUser {
  readonly #needs: LookupNeeds & FreshLoginNeeds
  constructor(needs: LookupNeeds & FreshLoginNeeds) {
    this.#needs = needs
  }

  /** @param input.target who is read */
  async execute({ by, target, ...request }: RequestFacts & { by: By; target: User }): Promise<void> {
    requireSuperuser(this.#needs, by, { isChange: false })
    await reportLookup(this.#needs, target, request, by)
  }
}
