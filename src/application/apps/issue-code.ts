import { unknownTraits } from '../../domain/session.ts'
import type { RequestFacts } from '../event-metadata.ts'
import { unknownCaller } from '../limits/limits.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import type { SingleUseNeeds } from '../single-use/single-use-kind.ts'
import { type BoundCode, type CodeLogin, codes, foundBy, unusedCodes } from './app-code.ts'

/** Issues a code for the signed-in user, which an app redeems once within a minute (RFC 6749 section 4.1.2). */
export class IssueCode {
  readonly #needs: SingleUseNeeds
  constructor(needs: SingleUseNeeds) {
    this.#needs = needs
  }

  /**
   * Throws `LimitReached` or `Unavailable` if too many codes and challenges are open.
   *
   * @param input.by the login that proves the user. The credential for the code has the time of its proof.
   */
  async execute(input: Omit<BoundCode, 'code'> & { by: Authenticated } & RequestFacts): Promise<string> {
    const { by, caller = unknownCaller, traits = unknownTraits, app, redirectUri, challenge } = input
    const { id, sid, generation, provedAt, methods, expiresAt } = by.credential
    const code = this.#needs.newToken()
    const bound = { code, app, redirectUri, challenge }
    const times = { provedAt: provedAt.getTime(), expiresAt: expiresAt.getTime() }
    const login: CodeLogin = {
      userId: by.user.id,
      backend: by.backend.name,
      id,
      sid,
      generation,
      ...times,
      methods,
      traits,
    }
    await codes.open(this.#needs, foundBy(bound), login, caller.client)
    await unusedCodes.open(this.#needs, foundBy(bound), {}, null)
    return code
  }
}
