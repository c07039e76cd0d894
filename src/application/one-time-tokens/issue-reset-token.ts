import type { EventId } from '../../domain/ids.ts'
import { factOf, isWanted } from '../../domain/one-time-token.ts'
import type { User } from '../../domain/user.ts'
import { type IssueNeeds, issueToken } from './issue-token.ts'

interface Needs extends IssueNeeds {
  newId: () => EventId
}

/** Returns a reset token to an operator, who hands it to the user. No route does this. */
export class IssueResetToken {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Returns `null` for a user who is not active, whose token would be refused. */
  async execute(user: User): Promise<{ token: string; expiresAt: Date } | null> {
    const purpose = 'reset_password'
    if (!isWanted(purpose, user)) return null
    const eventId = this.#needs.newId()
    return await issueToken(this.#needs, { purpose, user, fact: factOf(purpose, user), eventId, isRepeated: false })
  }
}
