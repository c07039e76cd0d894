import type { KeyRing } from '../ports/key-ring.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'

interface Needs {
  expiringMarks: Pick<ExpiringMarks, 'claim'>
  keyRing: Pick<KeyRing, 'digest' | 'sealRecord' | 'unsealRecord'>
  clock: () => Date
}

interface Content {
  /** Milliseconds since 1970. */
  readonly until: number
}

const challengeSeconds = 300

/**
 * The challenges of sign-ins by a passkey. Anybody may ask for one, so an open one takes no place in the store: it carries its end, and
 * is sealed for its browser. The store keeps the digests of those that signed somebody in, until their end.
 */
export class SignInChallenges {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param browser a secret that only this browser sends; `null` binds the challenge to none */
  open(browser: string | null): string {
    const { keyRing, clock } = this.#needs
    const content: Content = { until: clock().getTime() + challengeSeconds * 1000 }
    return keyRing.sealRecord(content, this.#bindingOf(browser))
  }

  /** The end of a challenge; `null` if it is not ours, has expired, or is of another browser. */
  endOf(challenge: string, browser: string | null): Date | null {
    const { keyRing, clock } = this.#needs
    const content = keyRing.unsealRecord(challenge, this.#bindingOf(browser)) as Content | null // safe: `open` sealed it
    return content !== null && content.until > clock().getTime() ? new Date(content.until) : null
  }

  /** `true` for exactly one of the callers with this challenge: the library accepts a repeated answer. */
  async use(challenge: string, end: Date): Promise<boolean> {
    const { expiringMarks, keyRing } = this.#needs
    return await expiringMarks.claim(`passkey:${keyRing.digest(challenge)}`, end)
  }

  #bindingOf(browser: string | null): string {
    return `passkey sign-in:${this.#needs.keyRing.digest(JSON.stringify([browser]))}`
  }
}
