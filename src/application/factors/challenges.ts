import { type Factors, hasFactor } from '../../domain/factors.ts'
import type { UserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import { giveBackShare, takeShare } from '../oauth/journey-share.ts'
import { keepSingleUse, type SingleUseNeeds } from '../oauth/single-use-record.ts'

export const factorMethods = ['totp', 'recovery_code', 'passkey'] as const
export type FactorMethod = (typeof factorMethods)[number]

/** The login that waits for its second factor. */
interface Waiting {
  readonly userId: UserId
  /** The proof counts for this state of the record only. */
  readonly generation: number
  readonly passwordVersion: number
  readonly methods: readonly string[]
  readonly requiresVerification: boolean
}

interface Sealed extends Waiting {
  readonly tries: number
}

/** A challenge that one request holds. Nobody else can answer it meanwhile. */
export interface HeldChallenge extends Sealed {
  readonly digest: string
  readonly share: string | null
  readonly expiresAt: Date
}

const challengeSeconds = 300
const mostTries = 5

/** The methods that can answer a challenge for the user, the usual one first. */
export function methodsOf({ totp, passkeys, recovery }: Factors): readonly FactorMethod[] {
  return [
    ...(totp === null ? [] : (['totp'] as const)),
    ...(passkeys.length === 0 ? [] : (['passkey'] as const)),
    ...(recovery === null || recovery.digests.length === 0 ? [] : (['recovery_code'] as const)),
  ]
}

interface Proved extends Place {
  readonly user: User
  readonly methods: readonly string[]
  readonly requiresVerification: boolean
  /** `null` if unknown. */
  readonly client: string | null
}

/** Where a challenge works. */
interface Place {
  readonly backend: string
  /** The secret of the browser; `null` for a login that is bound to none. */
  readonly browser: string | null
}

/** The logins that wait for their second factor. */
export class Challenges {
  readonly #needs: SingleUseNeeds
  constructor(needs: SingleUseNeeds) {
    this.#needs = needs
  }

  /** Returns the text that the second request of the login has to show. Throws `LimitReached` or `Unavailable` if too many are open. */
  async open({ user, backend, browser, methods, requiresVerification, client }: Proved): Promise<string> {
    const challenge = this.#needs.newToken()
    const waiting: Waiting = {
      userId: user.id,
      generation: user.sessions.generation,
      passwordVersion: user.passwordVersion,
      methods,
      requiresVerification,
    }
    const digest = this.#keyOf(challenge, { backend, browser })
    const expiresAt = new Date(this.#needs.clock().getTime() + challengeSeconds * 1000)
    await this.#put({ ...waiting, tries: 0, digest, share: await takeShare(this.#needs, client), expiresAt })
    return challenge
  }

  /** One of any number of concurrent callers gets the challenge. `null`: it is unknown, expired, used or held. */
  async take(challenge: string, place: Place): Promise<HeldChallenge | null> {
    const { oauthStates, keyRing } = this.#needs
    const digest = this.#keyOf(challenge, place)
    const record = await oauthStates.take(digest)
    if (record === null) return null
    const sealed = keyRing.unsealCode(record.sealedSecrets, digest)
    const { share, expiresAt } = record
    return sealed && { ...(sealed as Sealed), digest, share, expiresAt } // safe: `#put` sealed it
  }

  /** Lets the user try again, unless the tries are used up. */
  async giveBack(held: HeldChallenge, isTry: boolean): Promise<void> {
    const tries = held.tries + (isTry ? 1 : 0)
    if (tries < mostTries) await this.#put({ ...held, tries })
    else await this.end(held)
  }

  async end({ share }: HeldChallenge): Promise<void> {
    await giveBackShare(this.#needs, share)
  }

  /** The place is part of the key: at another one, nothing is found, and nothing is used up. */
  #keyOf(challenge: string, { backend, browser }: Place): string {
    return `second-factor:${this.#needs.keyRing.digest(JSON.stringify([challenge, backend, browser]))}`
  }

  async #put({ digest, share, expiresAt, ...content }: HeldChallenge): Promise<void> {
    await keepSingleUse(this.#needs, { digest, content, share, expiresAt })
  }
}

/** Whether the proof of the first factor still counts. */
export function stillProves(held: HeldChallenge, user: User): boolean {
  return (
    user.isActive &&
    hasFactor(user) &&
    user.sessions.generation === held.generation &&
    user.passwordVersion === held.passwordVersion
  )
}
