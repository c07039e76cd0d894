import type { ClientTraits } from '../../domain/session.ts'
import { takeShare } from '../oauth/journey-share.ts'
import { keepSingleUse, type SingleUseNeeds } from '../oauth/single-use-record.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import { type BoundCode, type CodeLogin, codeKey } from './app-code.ts'

/** RFC 6749 section 4.1.2 recommends at most 600. */
const codeSeconds = 60

/** Issues a code for the signed-in user, which an app redeems once within a minute (RFC 6749 section 4.1.2). */
export class IssueCode {
  readonly #needs: SingleUseNeeds
  constructor(needs: SingleUseNeeds) {
    this.#needs = needs
  }

  /**
   * Throws `LimitReached` or `Unavailable` if too many codes and journeys are open.
   *
   * @param input.by the login that proves the user. The credential for the code has the time of its proof.
   * @param input.client `null` if unknown
   */
  async execute(
    input: Omit<BoundCode, 'code'> & { by: Authenticated; client: string | null; traits: ClientTraits },
  ): Promise<string> {
    const { keyRing, newToken, clock } = this.#needs
    const { by, client, traits, app, redirectUri, challenge } = input
    const { sid, generation, provedAt, methods } = by.credential
    const code = newToken()
    const digest = codeKey(keyRing, 'open', { code, app, redirectUri, challenge })
    const login: CodeLogin = { userId: by.user.id, sid, generation, provedAt: provedAt.getTime(), methods, traits }
    const record = {
      digest,
      content: login,
      share: await takeShare(this.#needs, client),
      expiresAt: new Date(clock().getTime() + codeSeconds * 1000),
    }
    await keepSingleUse(this.#needs, record, 'user')
    return code
  }
}
