import { type EmailKey, mailboxKey } from '../../domain/email.ts'
import { restSeconds } from '../../domain/one-time-token.ts'
import { LimitReached, Refusal, type RefusalCode } from '../../domain/refusal.ts'
import type { DeviceTokens } from '../ports/device-tokens.ts'
import type { Limiter } from '../ports/stores/limiter.ts'
import {
  type Counter,
  type CounterName,
  type CounterNeeds,
  counterOf,
  countersOf,
  knownDevices,
  pauseOf,
  windows,
} from './counters.ts'
import type { ClientLimit, FactorAttempt, Limits, Notice, PasswordAttempt, TokenDemand } from './limits.ts'
import type { Attack } from './report-attack.ts'

interface Needs extends CounterNeeds {
  limiter: Limiter
  deviceTokens: Pick<DeviceTokens, 'idOf'>
  clock: () => Date
  /** Called for each attempt that the counter of an account refuses. */
  attacked: (attack: Attack) => void
  /** Called for the first request of a window that gets no token, because the address has reached its limit. */
  withheld: (demand: Pick<TokenDemand, 'purpose' | 'requestId'>) => void
}

/** A point that an attempt has added to a counter. */
interface Taken extends Counter {
  readonly points: number
  readonly expiresAt: number
}

interface Refused {
  readonly by: Pick<Counter, 'name' | 'network'>
  readonly refusedAt: number
  readonly expiresAt: number
}

/** For this time after a refusal, a process refuses without asking the store, to spare it in a flood. In milliseconds. */
const refusalMemory = 1000
const mostRefusals = 10_000

/** No point is given back within this time before its counter expires, because it could reach the next window. */
const marginMilliseconds = 1000

/**
 * Limits by counters that all processes share. A password counts as wrong before it is verified, and a right one is given
 * back. So the limits are exact, however many callers guess at the same time.
 */
export class CountedLimits implements Limits {
  readonly #needs: Needs
  /** The refusals of this process, by the key of the counter that refused. */
  readonly #refused = new Map<string, Refused>()
  constructor(needs: Needs) {
    this.#needs = needs
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

  async factor<R>(
    { account, device, passwordVersion, factorsSince }: FactorAttempt,
    verify: () => Promise<R | null>,
  ): Promise<R | null> {
    const deviceId = device === null ? null : this.#needs.deviceTokens.idOf(device, account)
    const since = String(factorsSince)
    const closing = (...ofDevices: readonly string[]) =>
      counterOf(this.#needs, 'factorsBeforeClosing', account, since, String(passwordVersion), ...ofDevices)
    const strangers = [counterOf(this.#needs, 'factorsPerAccount', account, since), closing()]
    // A thief of the password may have many device tokens, so all of them have one closing.
    const known =
      deviceId === null
        ? null
        : [counterOf(this.#needs, 'factorsPerAccount', account, since, deviceId), closing(knownDevices)]
    const taken = await this.#takeKnown(known, strangers, 'factorsBeforeClosing')
    try {
      const verified = await verify()
      if (verified === null) return null
      await this.#giveBack(taken.filter(({ name }) => name !== 'factorsBeforeClosing'))
      for (const { key } of [closing(), closing(knownDevices)]) {
        this.#refused.delete(key)
        await this.#needs.limiter.clear(key)
      }
      return verified
    } catch (thrown) {
      await this.#giveBack(taken)
      throw thrown
    }
  }

  async challenge({ account, device }: Pick<FactorAttempt, 'account' | 'device'>): Promise<void> {
    const isKnown = device !== null && this.#needs.deviceTokens.idOf(device, account) !== null
    await this.#takeOfAccount('challengesPerAccount', account, isKnown)
  }

  async request<R>(limit: ClientLimit, client: string | null, work: () => Promise<R>): Promise<R> {
    if (client === null) return await work()
    const taken = await this.#take(countersOf(this.#needs, client, `${limit}PerClient`))
    if (limit !== 'wrongTokens') return await work()

    let isWrong = false
    try {
      return await work()
    } catch (thrown) {
      isWrong = refusesToken(thrown)
      throw thrown
    } finally {
      if (!isWrong) await this.#giveBack(taken)
    }
  }

  async maySendToken({ purpose, account, device, requestId }: TokenDemand): Promise<boolean> {
    const { limiter, deviceTokens, figures, withheld } = this.#needs
    // Strangers can use up the tokens of an address. So the browsers of its owner have a counter of their own.
    const isKnown = device !== null && deviceTokens.idOf(device, account) !== null
    const keyOf = (subject: string): string =>
      counterOf(this.#needs, 'tokensPerAddress', purpose, subject, ...(isKnown ? [knownDevices] : [])).key

    // The requests of a minute get one token, so they count once. Otherwise an impatient user would get no more tokens.
    const minute = Math.floor(this.#now() / 1000 / restSeconds)
    // Each request for a new address sends a message, so each one counts.
    const ofMinute = `${keyOf(account)}:${minute}`
    const isFirst = purpose === 'change_email' || (await limiter.add(ofMinute, 1, restSeconds)).points === 1
    const { points } = await limiter.add(keyOf(mailboxKey(account)), isFirst ? 1 : 0, windows.tokensPerAddress)
    if (isFirst && points === figures.tokensPerAddress + 1) withheld({ purpose, requestId })
    return points <= figures.tokensPerAddress
  }

  async mayTell(notice: Notice, account: EmailKey): Promise<boolean> {
    const [counted] = await this.#count([counterOf(this.#needs, 'tokensPerAddress', notice, mailboxKey(account))])
    return counted !== undefined && counted.points <= counted.most
  }

  /** Adds a point to each counter of the attempt, and refuses at the first counter that is over its limit. */
  async #takePassword(attempt: PasswordAttempt, taken: Taken[]): Promise<void> {
    const { client, device, requestId } = attempt
    const { deviceTokens, attacked } = this.#needs
    const perClient = client === null ? [] : countersOf(this.#needs, client, 'passwordsPerClient')
    this.#refuseAgain(perClient.map(({ key }) => key))
    const isName = typeof attempt.account === 'function'
    if (isName) taken.push(...(await this.#take(perClient)))
    const account = typeof attempt.account === 'function' ? await attempt.account() : attempt.account
    const deviceId = device === null || account === null ? null : deviceTokens.idOf(device, account)
    const isStranger = client !== null && account !== null && deviceId === null
    const pairs = isStranger ? countersOf(this.#needs, client, 'passwordsBeforePauses', account) : []
    this.#refuseAgain(pairs.map(({ key }) => pauseOf(key)))

    if (!isName) taken.push(...(await this.#take(perClient)))
    if (account === null) return
    if (deviceId !== null)
      taken.push(...(await this.#take([counterOf(this.#needs, 'passwordsPerDevice', account, deviceId)])))
    const counted = await this.#count(pairs)
    taken.push(...counted)
    for (const pair of counted) await this.#pause(pair)
    try {
      taken.push(...(await this.#takeOfAccount('passwordsPerAccount', account, deviceId !== null)))
    } catch (thrown) {
      if (thrown instanceof LimitReached) attacked({ account, client, requestId })
      throw thrown
    }
  }

  /** A former owner of the address may have many device tokens, so all of them share a counter. */
  async #takeOfAccount(
    name: 'passwordsPerAccount' | 'challengesPerAccount',
    account: EmailKey,
    isKnown: boolean,
  ): Promise<readonly Taken[]> {
    const known = isKnown ? [counterOf(this.#needs, name, account, knownDevices)] : null
    return await this.#takeKnown(known, [counterOf(this.#needs, name, account)], name)
  }

  /**
   * When the counter that all device tokens share is full, they use the strangers' counters. So it never refuses a browser with a
   * device token where it allows a stranger.
   *
   * @param known the counters of a browser with a device token; `null`: it has none
   * @param shared the limit whose counter all device tokens share
   */
  async #takeKnown(
    known: readonly Counter[] | null,
    strangers: readonly Counter[],
    shared: CounterName,
  ): Promise<readonly Taken[]> {
    if (known === null) return await this.#take(strangers)
    try {
      return await this.#take(known)
    } catch (thrown) {
      if (!(thrown instanceof LimitReached && thrown.limit === shared)) throw thrown
      return await this.#take(strangers)
    }
  }

  /** Lets one attempt through, and none for the next 1, 2, 4 … seconds. */
  async #pause({ points, ...pair }: Taken): Promise<void> {
    const { limiter, figures } = this.#needs
    const excess = points - pair.most
    if (excess < 0) return
    const key = pauseOf(pair.key)
    const gate = await limiter.add(key, 1, Math.min(figures.longestPauseSeconds, 2 ** excess))
    if (gate.points > 1) throw this.#refuse({ ...pair, key }, this.#now() + gate.expiresIn)
  }

  /** Adds a point to each counter. If one of them is over its limit, it refuses, and none keeps its point. */
  async #take(counters: readonly Counter[]): Promise<readonly Taken[]> {
    this.#refuseAgain(counters.map(({ key }) => key))
    const taken = await this.#count(counters)
    const full = taken.find(({ points, most }) => points > most)
    if (full === undefined) return taken
    await this.#giveBack(taken)
    throw this.#refuse(full, full.expiresAt)
  }

  #refuse(by: Counter, expiresAt: number): LimitReached {
    const refusedAt = this.#now()
    if (this.#refused.size >= mostRefusals) this.#refused.clear()
    this.#refused.set(by.key, { by, refusedAt, expiresAt })
    return reached(by, expiresAt - refusedAt)
  }

  #refuseAgain(keys: readonly string[]): void {
    const now = this.#now()
    for (const key of keys) {
      const refused = this.#refused.get(key)
      if (refused !== undefined && now < Math.min(refused.refusedAt + refusalMemory, refused.expiresAt)) {
        throw reached(refused.by, refused.expiresAt - now)
      }
    }
  }

  /** Counts at the same time, so that the networks of a client take as long as one. */
  async #count(counters: readonly Counter[]): Promise<readonly Taken[]> {
    const { limiter } = this.#needs
    return await Promise.all(
      counters.map(async (counter) => {
        const { points, expiresIn } = await limiter.add(counter.key, 1, windows[counter.name])
        return { ...counter, points, expiresAt: this.#now() + expiresIn }
      }),
    )
  }

  async #giveBack(taken: readonly Taken[]): Promise<void> {
    const now = this.#now()
    for (const { key } of taken) this.#refused.delete(key)
    const open = taken.filter(({ expiresAt }) => expiresAt - now > marginMilliseconds)
    await Promise.all(open.map(({ name, key }) => this.#needs.limiter.add(key, -1, windows[name])))
  }

  /** Called after a right password. It clears the counter of client and account, and gives the other points back. */
  async #forgive(taken: readonly Taken[]): Promise<void> {
    const { limiter } = this.#needs
    const isPair = ({ name }: Taken) => name === 'passwordsBeforePauses'
    const cleared = taken.filter(isPair).flatMap(({ key }) => [key, pauseOf(key)])
    const others = taken.filter((one) => !isPair(one))
    for (const key of cleared) this.#refused.delete(key)
    await Promise.all([this.#giveBack(others), ...cleared.map((key) => limiter.clear(key))])
  }

  #now(): number {
    return this.#needs.clock().getTime()
  }
}

function reached({ name, network }: Pick<Counter, 'name' | 'network'>, milliseconds: number): LimitReached {
  return new LimitReached(`limits.${name}`, milliseconds / 1000, network)
}

const badTokens: readonly RefusalCode[] = [
  'RESET_PASSWORD_BAD_TOKEN',
  'VERIFY_USER_BAD_TOKEN',
  'FACTOR_RESET_BAD_TOKEN',
]

function refusesToken(thrown: unknown): boolean {
  return thrown instanceof Refusal && badTokens.includes(thrown.code)
}
