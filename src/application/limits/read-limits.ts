import { type EmailKey, mailboxKey } from '../../domain/email.ts'
import type { TokenPurpose } from '../../domain/one-time-token.ts'
import type { Limiter } from '../ports/stores/limiter.ts'
import {
  type Counter,
  type CounterName,
  type CounterNeeds,
  counterOf,
  countersOf,
  knownDevices,
  pauseOf,
} from './counters.ts'

/** The requests that a counter counts: of all clients, of browsers with a device token of the account, or of one client. */
type Counted = 'strangers' | 'devices' | 'client'

/** A counter that has points. */
export interface LimitState {
  /** The setting in `limits`. */
  readonly limit: CounterName
  readonly of: Counted
  /** The purpose of the tokens of `tokensPerAddress`; otherwise `null`. */
  readonly purpose: TokenPurpose | null
  readonly points: number
  readonly most: number
  /** Whether the next request is refused, or gets no token. */
  readonly isReached: boolean
  /** The end of the window of the counter, or of the pause. */
  readonly until: Date
}

export interface ReadLimitsNeeds extends CounterNeeds {
  limiter: Limiter
  clock: () => Date
}

const purposes = ['reset_password', 'verify_email', 'change_email'] as const satisfies readonly TokenPurpose[]

interface Subject {
  readonly account: EmailKey
  readonly passwordVersion: number
  readonly factorsSince: number
  readonly client: string | null
}

/** Tells an operator which limits an address has used or reached. It adds no point. */
export class ReadLimits {
  readonly #needs: ReadLimitsNeeds
  constructor(needs: ReadLimitsNeeds) {
    this.#needs = needs
  }

  /**
   * @param input.passwordVersion that of the user, since a new password opens a step that was closed
   * @param input.factorsSince that of the user, since other factors have other counters
   * @param input.client an IPv4 or IPv6 address; `null`: the counters of clients are left out, because their keys are hashes
   */
  async execute({ account, passwordVersion, factorsSince, client }: Subject): Promise<readonly LimitState[]> {
    const needs = this.#needs
    const mailbox = mailboxKey(account)
    const since = String(factorsSince)
    const shared = [
      ['passwordsPerAccount'],
      ['factorsBeforeClosing', since, String(passwordVersion)],
      ['challengesPerAccount'],
    ] as const
    const states = [
      this.#read(counterOf(needs, 'factorsPerAccount', account, since), 'strangers'),
      ...shared.flatMap(([limit, ...subject]) => [
        this.#read(counterOf(needs, limit, account, ...subject), 'strangers'),
        this.#read(counterOf(needs, limit, account, ...subject, knownDevices), 'devices'),
      ]),
      ...purposes.flatMap((purpose) => [
        this.#read(counterOf(needs, 'tokensPerAddress', purpose, mailbox), 'strangers', purpose),
        this.#read(counterOf(needs, 'tokensPerAddress', purpose, mailbox, knownDevices), 'devices', purpose),
      ]),
      ...(client === null ? [] : this.#ofClient(client, account)),
    ]
    return (await Promise.all(states)).filter((state) => state.points > 0)
  }

  #ofClient(client: string, account: EmailKey): readonly Promise<LimitState>[] {
    return [
      ...countersOf(this.#needs, client, 'passwordsPerClient').map((counter) => this.#read(counter, 'client')),
      ...countersOf(this.#needs, client, 'passwordsBeforePauses', account).map((counter) => this.#readPair(counter)),
    ]
  }

  async #read(counter: Counter, of: Counted, purpose: TokenPurpose | null = null): Promise<LimitState> {
    const { points, until } = await this.#pointsOf(counter.key)
    const { name: limit, most } = counter
    return { limit, of, purpose, points, most, isReached: points >= most, until }
  }

  /** A client and an account. This counter refuses nothing itself; its pauses do. */
  async #readPair(counter: Counter): Promise<LimitState> {
    const [state, pause] = await Promise.all([this.#read(counter, 'client'), this.#pointsOf(pauseOf(counter.key))])
    const isReached = pause.points > 0
    return { ...state, isReached, until: isReached ? pause.until : state.until }
  }

  /** An addition of 0 changes no counter, and leaves none where there was none. */
  async #pointsOf(key: string): Promise<{ points: number; until: Date }> {
    const { limiter, clock } = this.#needs
    const { points, expiresIn } = await limiter.add(key, 0, 1)
    return { points, until: new Date(clock().getTime() + expiresIn) }
  }
}
