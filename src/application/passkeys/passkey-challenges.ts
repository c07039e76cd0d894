import type { UserId } from '../../domain/ids.ts'
import { giveBackShare, takeShare } from '../oauth/journey-share.ts'
import { keepSingleUse, type SingleUseNeeds } from '../oauth/single-use-record.ts'

/** The purpose of a challenge, which works for no other one. */
export type Ceremony =
  /** A login that adds a passkey. */
  | { readonly type: 'enrol'; readonly userId: UserId; readonly sid: string }
  /** A login by a passkey. `null`: it is bound to no browser. */
  | { readonly type: 'sign_in'; readonly browser: string | null }

const challengeSeconds = 300

interface Content {
  readonly handle: string
}

/** The challenges that authenticators sign. Each works once: the library accepts a repeated answer. */
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
  async open(ceremony: Ceremony, client: string | null, handle = ''): Promise<string> {
    const challenge = this.#needs.newToken()
    const content: Content = { handle }
    const record = {
      digest: this.#keyOf(challenge, ceremony),
      content,
      share: await takeShare(this.#needs, client),
      expiresAt: new Date(this.#needs.clock().getTime() + challengeSeconds * 1000),
    }
    await keepSingleUse(this.#needs, record, ceremony.type === 'enrol' ? 'user' : 'anybody')
    return challenge
  }

  /** One of any number of concurrent callers gets it. `null`: it is unknown, expired or used, or for another ceremony. */
  async take(challenge: string, ceremony: Ceremony): Promise<Content | null> {
    const { oauthStates, keyRing, clock } = this.#needs
    const digest = this.#keyOf(challenge, ceremony)
    const record = await oauthStates.take(digest)
    if (record === null) return null
    await giveBackShare(this.#needs, record.share)
    if (record.expiresAt <= clock()) return null
    return keyRing.unsealCode(record.sealedSecrets, digest) as Content | null // safe: `open` sealed it
  }

  #keyOf(challenge: string, ceremony: Ceremony): string {
    const { digest } = this.#needs.keyRing
    const place = ceremony.type === 'enrol' ? [ceremony.userId, ceremony.sid] : [ceremony.browser]
    return `passkey:${digest(JSON.stringify([challenge, ceremony.type, ...place]))}`
  }
}
