import { unknownTraits } from '../../domain/session.ts'
import type { RequestFacts } from '../event-metadata.ts'
import { unknownCaller } from '../limits/limits.ts'
import { takeShare } from '../oauth/journey-share.ts'
import { keepSingleUse, type SingleUseNeeds } from '../oauth/single-use-record.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import { type BoundCode, type CodeLogin, codeKey } from './app-code.ts'

/** RFC 6749 section 4.1.2 recommends at most 600. */
const codeSeconds = 60
/** The first use may end so much later than the code. */
const useSeconds = 60

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
   */
  async execute(input: Omit<BoundCode, 'code'> & { by: Authenticated } & RequestFacts): Promise<string> {
    const { keyRing, newToken, clock } = this.#needs
    const { by, caller = unknownCaller, traits = unknownTraits, app, redirectUri, challenge } = input
    const { id, sid, generation, provedAt, methods, expiresAt } = by.credential
    const code = newToken()
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
    const now = clock().getTime()
    const open = {
      digest: codeKey(keyRing, 'open', bound),
      content: login,
      share: await takeShare(this.#needs, caller.client),
      expiresAt: new Date(now + codeSeconds * 1000),
    }
    const ends = new Date(now + (codeSeconds + useSeconds) * 1000)
    const unused = { digest: codeKey(keyRing, 'unused', bound), content: {}, share: null, expiresAt: ends }
    await keepSingleUse(this.#needs, unused)
    await keepSingleUse(this.#needs, open)
    return code
  }
}
