import { type Email, emailKey } from '../../domain/email.ts'
import type { RequestPurpose } from '../../domain/one-time-token.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { MetadataNeeds, RequestFacts } from '../event-metadata.ts'
import { type Limits, unknownCaller } from '../limits/limits.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { TokenRequests } from '../ports/stores/token-requests.ts'

interface Needs extends MetadataNeeds {
  tokenRequests: TokenRequests
  keyRing: KeyRing
  limits: Pick<Limits, 'maySendToken'>
}

/**
 * Stores a request for a reset or verification token: one small write, the same for every address. `DeliverTokens` looks
 * for the user later, so the time of the answer reveals nothing (OWASP Forgot Password cheat sheet). It writes nothing for
 * an address that has got its tokens of the hour, and answers the same.
 */
export class RequestToken {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: RequestFacts & { purpose: RequestPurpose; email: Email }): Promise<void> {
    const { tokenRequests, keyRing, limits, clock, newId } = this.#needs
    const { purpose, requestId, languages = [], caller = unknownCaller } = input
    const key = emailKey(input.email)
    if (!(await limits.maySendToken({ purpose, account: key, device: caller.device, requestId }))) return
    const id = keyRing.requestId(purpose, key)

    const outcome = await tokenRequests.ask({
      id,
      eventId: newId(),
      purpose,
      sealedEmail: keyRing.sealEmail(key, id),
      requestId,
      languages,
      at: clock(),
    })
    if (outcome === 'full') throw new Unavailable('too many token requests wait for delivery', { retryAfterSeconds: 5 })
  }
}
