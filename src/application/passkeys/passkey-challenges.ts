import type { UserId } from '../../domain/ids.ts'
import { SingleUseKind, type SingleUseNeeds } from '../single-use/single-use-kind.ts'

/** The login that adds a passkey. */
interface Enrolment {
  readonly userId: UserId
  readonly sid: string
}

interface Content {
  readonly handle: string
}

const kind = new SingleUseKind<Content>('passkey', { seconds: 300 })
const foundBy = (challenge: string, { userId, sid }: Enrolment) => [challenge, userId, sid]

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
    await kind.open(this.#needs, foundBy(challenge, enrolment), { handle }, client)
    return challenge
  }

  /** One of any number of concurrent callers gets it. `null`: it is unknown, expired or used, or of another login. */
  async take(challenge: string, enrolment: Enrolment): Promise<Content | null> {
    const used = await kind.use(this.#needs, foundBy(challenge, enrolment))
    return used === null || used.expiresAt <= this.#needs.clock() ? null : used.content
  }
}
