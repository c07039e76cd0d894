import { type Email, emailKey } from '../../domain/email.ts'
import type { RequestPurpose } from '../../domain/one-time-token.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { CausingRequest, MetadataNeeds } from '../event-metadata.ts'
import type { Limits } from '../limits/limits.ts'
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

  /** @param input.device the device token of the browser */
  async execute(
    input: CausingRequest & { purpose: RequestPurpose; email: Email; device?: string | null },
  ): Promise<void> {
    const { tokenRequests, keyRing, limits, clock, newId } = this.#needs
    const { purpose, requestId, languages = [], device = null } = input
    const key = emailKey(input.email)
    if (!(await limits.maySendToken({ purpose, account: key, device, requestId }))) return
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
