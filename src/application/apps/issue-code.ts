import { Unavailable } from '../../domain/refusal.ts'
import type { ClientTraits } from '../../domain/session.ts'
import { takeShare } from '../oauth/journey-share.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { Limiter } from '../ports/stores/limiter.ts'
import type { OAuthStateStore } from '../ports/stores/oauth-state-store.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import { type BoundCode, type CodeLogin, codeKey, codeRecord } from './app-code.ts'

interface Needs {
  oauthStates: OAuthStateStore
  keyRing: KeyRing
  /** 43 characters, 256 random bits. */
  newToken: () => string
  limiter: Limiter
  maxOpenJourneys: number
  clock: () => Date
}

/** RFC 6749 section 4.1.2 recommends at most 600. */
const codeSeconds = 60

/** Issues a code for the signed-in user, which an app redeems once within a minute (RFC 6749 section 4.1.2). */
export class IssueCode {
  readonly #needs: Needs
  constructor(needs: Needs) {
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
    const { oauthStates, keyRing, newToken, clock, maxOpenJourneys } = this.#needs
    const { by, client, traits, app, redirectUri, challenge } = input
    const { sid, generation, provedAt, methods } = by.credential
    const code = newToken()
    const digest = codeKey(keyRing, 'open', { code, app, redirectUri, challenge })
    const login: CodeLogin = { userId: by.user.id, sid, generation, provedAt: provedAt.getTime(), methods, traits }
    const record = codeRecord({
      digest,
      sealedSecrets: keyRing.sealCode(login, digest),
      share: await takeShare(this.#needs, client),
      expiresAt: new Date(clock().getTime() + codeSeconds * 1000),
    })
    const outcome = await oauthStates.put(record, maxOpenJourneys)
    if (outcome === 'full') throw new Unavailable('too many open codes and OAuth journeys', { retryAfterSeconds: 5 })
    return code
  }
}
