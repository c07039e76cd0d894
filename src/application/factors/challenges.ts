import { type Factors, hasFactor } from '../../domain/factors.ts'
import type { UserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import { giveBackShare } from '../single-use/open-share.ts'
import { SingleUseKind, type SingleUseNeeds, type Taken } from '../single-use/single-use-kind.ts'

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
export type HeldChallenge = Taken<Sealed>

const kind = new SingleUseKind<Sealed>('second-factor', { seconds: 300 })
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
    await kind.open(this.#needs, foundBy(challenge, { backend, browser }), { ...waiting, tries: 0 }, client)
    return challenge
  }

  /** One of any number of concurrent callers gets the challenge. `null`: it is unknown, expired, used or held. */
  async take(challenge: string, place: Place): Promise<HeldChallenge | null> {
    return await kind.take(this.#needs, foundBy(challenge, place))
  }

  /** Lets the user try again, unless the tries are used up. */
  async giveBack(held: HeldChallenge, isTry: boolean): Promise<void> {
    const tries = held.content.tries + (isTry ? 1 : 0)
    if (tries < mostTries) await kind.giveBack(this.#needs, { ...held, content: { ...held.content, tries } })
    else await this.end(held)
  }

  async end({ share }: HeldChallenge): Promise<void> {
    await giveBackShare(this.#needs, share)
  }
}

/** The place is part of the key: at another one, nothing is found, and nothing is used up. */
const foundBy = (challenge: string, { backend, browser }: Place) => [challenge, backend, browser]

/** Whether the proof of the first factor still counts. */
export function stillProves({ content: held }: HeldChallenge, user: User): boolean {
  return (
    user.isActive &&
    hasFactor(user) &&
    user.sessions.generation === held.generation &&
    user.passwordVersion === held.passwordVersion
  )
}
