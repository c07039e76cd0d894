import type { EmailKey } from '../../domain/email.ts'
import type { TokenPurpose } from '../../domain/one-time-token.ts'
import { LimitReached, Refusal } from '../../domain/refusal.ts'
import type { DeviceTokens } from '../ports/device-tokens.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { Limiter } from '../ports/stores/limiter.ts'
import type { ClientLimit, Limits, PasswordAttempt } from './limits.ts'
import type { Attack } from './report-attack.ts'

/** The settings `limits`. */
export interface LimitFigures {
  readonly passwordsPerClient: number
  readonly passwordsBeforePauses: number
  readonly longestPauseSeconds: number
  readonly passwordsPerAccount: number
  readonly passwordsPerDevice: number
  readonly registrationsPerClient: number
  readonly tokenRequestsPerClient: number
  readonly wrongTokensPerClient: number
  readonly oauthRequestsPerClient: number
  readonly tokensPerAddress: number
}

interface Needs {
  limiter: Limiter
  keyRing: Pick<KeyRing, 'counterKey'>
  deviceTokens: Pick<DeviceTokens, 'idOf'>
  figures: LimitFigures
  clock: () => Date
  /** Called for each attempt that the counter of an account refuses. */
  attacked: (attack: Attack) => void
}

interface Counter {
  readonly most: number
  /** The window, which begins with the first count. */
  readonly seconds: number
}

const tenMinutes = 600
const hour = 3600

function countersOf(figures: LimitFigures) {
  return {
    client: { most: figures.passwordsPerClient, seconds: tenMinutes },
    clientAndAccount: { most: Number.POSITIVE_INFINITY, seconds: hour }, // pauses hold it off
    account: { most: figures.passwordsPerAccount, seconds: hour },
    device: { most: figures.passwordsPerDevice, seconds: hour },
    registrations: { most: figures.registrationsPerClient, seconds: hour },
    tokenRequests: { most: figures.tokenRequestsPerClient, seconds: hour },
    wrongTokens: { most: figures.wrongTokensPerClient, seconds: tenMinutes },
    oauthRequests: { most: figures.oauthRequestsPerClient, seconds: tenMinutes },
    tokens: { most: figures.tokensPerAddress, seconds: hour },
  } satisfies Record<string, Counter>
}

type CounterName = keyof ReturnType<typeof countersOf>

/** One more in a counter. */
interface Taken {
  readonly name: CounterName
  readonly key: string
  readonly points: number
  readonly expiresAt: number
}

/** A point that is given back later than this before its counter expires could reach the next window. */
const marginMilliseconds = 1000

/**
 * Limits by counters that all processes share. A password counts as wrong before it is verified, and a right one is given
 * back. So the limits are exact, however many callers guess at the same time.
 */
export class CountedLimits implements Limits {
  readonly #needs: Needs
  readonly #counters: Readonly<Record<CounterName, Counter>>

  constructor(needs: Needs) {
    this.#needs = needs
    this.#counters = countersOf(needs.figures)
  }

  async password<R>(attempt: PasswordAttempt, verify: () => Promise<R | null>): Promise<R | null> {
    const taken: Taken[] = []
    try {
      await this.#takePassword(attempt, taken)
      const verified = await verify()
      if (verified !== null) await this.#forgive(taken)
      return verified
    } catch (thrown) {
      await this.#giveBack(taken)
      throw thrown
    }
  }

  async request<R>(limit: ClientLimit, client: string | null, work: () => Promise<R>): Promise<R> {
    if (client === null) return await work()
    const taken = await this.#take(limit, client)
    if (limit !== 'wrongTokens') return await work()

    let isWrong = false
    try {
      return await work()
    } catch (thrown) {
      isWrong = refusesToken(thrown)
      throw thrown
    } finally {
      if (!isWrong) await this.#giveBack([taken])
    }
  }

  async maySendToken(purpose: TokenPurpose, address: EmailKey): Promise<boolean> {
    const { points } = await this.#count('tokens', purpose, address)
    return points <= this.#counters.tokens.most
  }

  /** Takes one from each counter of the attempt, in the order in which they are judged. */
  async #takePassword({ client, account, device, requestId }: PasswordAttempt, taken: Taken[]): Promise<void> {
    const { deviceTokens, attacked } = this.#needs
    if (client !== null) taken.push(await this.#take('client', client))
    if (account === null) return

    const deviceId = device === null ? null : deviceTokens.idOf(device, account)
    if (deviceId !== null) {
      taken.push(await this.#take('device', account, deviceId))
      return
    }
    if (client !== null) {
      const pair = await this.#take('clientAndAccount', client, account)
      taken.push(pair)
      await this.#pause(pair)
    }
    try {
      taken.push(await this.#take('account', account))
    } catch (thrown) {
      if (thrown instanceof LimitReached) attacked({ account, client, requestId })
      throw thrown
    }
  }

  /** Lets one attempt through, and none for the next 1, 2, 4 … seconds. */
  async #pause({ key, points }: Taken): Promise<void> {
    const { limiter, figures } = this.#needs
    const excess = points - figures.passwordsBeforePauses
    if (excess < 0) return
    const gate = await limiter.add(pauseOf(key), 1, Math.min(figures.longestPauseSeconds, 2 ** excess))
    if (gate.points > 1) throw new LimitReached('pause', gate.expiresIn / 1000)
  }

  async #take(name: CounterName, ...subject: readonly string[]): Promise<Taken> {
    const taken = await this.#count(name, ...subject)
    if (taken.points <= this.#counters[name].most) return taken
    await this.#giveBack([taken])
    throw new LimitReached(name, (taken.expiresAt - this.#now()) / 1000)
  }

  async #count(name: CounterName, ...subject: readonly string[]): Promise<Taken> {
    const { limiter, keyRing } = this.#needs
    const key = `${name}:${keyRing.counterKey(...subject)}`
    const { points, expiresIn } = await limiter.add(key, 1, this.#counters[name].seconds)
    return { name, key, points, expiresAt: this.#now() + expiresIn }
  }

  async #giveBack(taken: readonly Taken[]): Promise<void> {
    const now = this.#now()
    const open = taken.filter(({ expiresAt }) => expiresAt - now > marginMilliseconds)
    await Promise.all(open.map(({ name, key }) => this.#needs.limiter.add(key, -1, this.#counters[name].seconds)))
  }

  /** After a right password. The client may make as many mistakes with this account as before. */
  async #forgive(taken: readonly Taken[]): Promise<void> {
    const { limiter } = this.#needs
    const isPair = ({ name }: Taken) => name === 'clientAndAccount'
    const cleared = taken.filter(isPair).flatMap(({ key }) => [key, pauseOf(key)])
    const others = taken.filter((one) => !isPair(one))
    await Promise.all([this.#giveBack(others), ...cleared.map((key) => limiter.clear(key))])
  }

  #now(): number {
    return this.#needs.clock().getTime()
  }
}

const pauseOf = (key: string): string => `${key}:pause`

function refusesToken(thrown: unknown): boolean {
  return thrown instanceof Refusal && ['RESET_PASSWORD_BAD_TOKEN', 'VERIFY_USER_BAD_TOKEN'].includes(thrown.code)
}
