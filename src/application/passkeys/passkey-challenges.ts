import type { UserId } from '../../domain/ids.ts'
import { giveBackShare, takeShare } from '../oauth/journey-share.ts'
import { keepSingleUse, type SingleUseNeeds } from '../oauth/single-use-record.ts'

/** The login that adds a passkey. */
interface Enrolment {
  readonly userId: UserId
  readonly sid: string
}

const challengeSeconds = 300

interface Content {
  readonly handle: string
}

/** The challenges for new passkeys. Each works once. */
export class PasskeyChallenges {
  readonly #needs: SingleUseNeeds
  constructor(needs: SingleUseNeeds) {
    this.#needs = needs
  }

  /**
   * Throws `LimitReached` or `Unavailable` if too many are open.
   *
   * @param handle the handle that a new passkey gets
   */
  async open(enrolment: Enrolment, client: string | null, handle: string): Promise<string> {
    const challenge = this.#needs.newToken()
    const content: Content = { handle }
    const record = {
      digest: this.#keyOf(challenge, enrolment),
      content,
      share: await takeShare(this.#needs, client),
      expiresAt: new Date(this.#needs.clock().getTime() + challengeSeconds * 1000),
    }
    await keepSingleUse(this.#needs, record)
    return challenge
  }

  /** One of any number of concurrent callers gets it. `null`: it is unknown, expired or used, or of another login. */
  async take(challenge: string, enrolment: Enrolment): Promise<Content | null> {
    const { oauthStates, keyRing, clock } = this.#needs
    const digest = this.#keyOf(challenge, enrolment)
    const record = await oauthStates.take(digest)
    if (record === null) return null
    await giveBackShare(this.#needs, record.share)
    if (record.expiresAt <= clock()) return null
    return keyRing.unsealCode(record.sealedSecrets, digest) as Content | null // safe: `open` sealed it
  }

  #keyOf(challenge: string, { userId, sid }: Enrolment): string {
    return `passkey:${this.#needs.keyRing.digest(JSON.stringify([challenge, userId, sid]))}`
  }
}
