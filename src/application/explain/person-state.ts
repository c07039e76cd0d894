import type { EmailKey } from '../../domain/email.ts'
import { factorsSince, noFactors } from '../../domain/factors.ts'
import { type OneTimeToken, stands, type TokenPurpose, tokenPurposes } from '../../domain/one-time-token.ts'
import type { User } from '../../domain/user.ts'
import { callTypeOf } from '../deliveries/delivery-needs.ts'
import type { Undelivered } from '../deliveries/undelivered.ts'
import { everyOne } from '../every-one.ts'
import { type LimitState, ReadLimits, type ReadLimitsNeeds } from '../limits/read-limits.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { LoginTimes } from '../ports/stores/login-times.ts'
import type { Outbox, SinkName } from '../ports/stores/outbox.ts'
import type { DeliveryState } from '../ports/stores/page.ts'
import type { RefusedLogins } from '../ports/stores/refused-logins.ts'
import type { TokenRequests } from '../ports/stores/token-requests.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'

export interface StateNeeds extends Omit<ReadLimitsNeeds, 'figures' | 'keyRing' | 'clock'> {
  readonly clock: () => Date
  /** `null`: there are no limits, or nobody knows their counters here. */
  limitFigures: ReadLimitsNeeds['figures'] | null
  loginTimes: LoginTimes
  outbox: Pick<Outbox, 'list'>
  tokenRequests: Pick<TokenRequests, 'list'>
  refusedLogins: Pick<RefusedLogins, 'add' | 'list'>
  keyRing: Pick<KeyRing, 'counterKey' | 'requestId'>
  /** The sinks that the settings switch on. */
  sinkNames: ReadonlySet<SinkName>
}

export interface LinkNeeds {
  tokens: Pick<TokenStore, 'current'>
  readonly clock: () => Date
}

/** A link that works, without its token. */
export interface OpenLink {
  readonly purpose: TokenPurpose
  readonly expiresAt: Date
}

/** Mail, events and requests for tokens of a person that wait or were given up. */
export interface OnTheWay {
  readonly deliveries: readonly Undelivered[]
  /** `false`: so much waits that not everything was looked at. */
  readonly isComplete: boolean
}

/** The limit of records of each kind that are looked at, because no store finds them by their user. */
const mostRead = 1000
const pageSize = 200

export async function linksOf({ tokens, clock }: LinkNeeds, user: User): Promise<readonly OpenLink[]> {
  const found = await Promise.all(tokenPurposes.map((purpose) => tokens.current(purpose, user.id)))
  const isOpen = (token: OneTimeToken | null): token is OneTimeToken =>
    token !== null &&
    token.expiresAt > clock() &&
    stands(token, user) &&
    !(token.purpose === 'verify_email' && user.isVerified)
  return found.filter(isOpen).map(({ purpose, expiresAt }) => ({ purpose, expiresAt }))
}

export async function limitsOf(
  { limitFigures, ...needs }: StateNeeds,
  account: EmailKey,
  user: User | null,
): Promise<readonly LimitState[]> {
  if (limitFigures === null) return []
  const readLimits = new ReadLimits({ ...needs, figures: limitFigures })
  const ofUser = { passwordVersion: user?.passwordVersion ?? 0, factorsSince: factorsSince(user?.factors ?? noFactors) }
  return await readLimits.execute({ account, ...ofUser, client: null })
}

/** The mail and the events of a user that wait or died, and requests for tokens of the address. */
export async function onTheWayTo(needs: StateNeeds, account: EmailKey, user: User | null): Promise<OnTheWay> {
  const { outbox, tokenRequests, keyRing, sinkNames } = needs
  const requestIds = new Set([keyRing.requestId('reset_password', account), keyRing.requestId('verify_email', account)])
  const deliveries: Undelivered[] = []
  let isComplete = true
  async function collect<T>(all: AsyncGenerator<T>, own: (one: T) => Undelivered | null): Promise<void> {
    let read = 0
    for await (const one of all) {
      if (++read > mostRead) {
        isComplete = false
        return
      }
      const found = own(one)
      if (found !== null) deliveries.push(found)
    }
  }
  for (const state of ['dead', 'waiting'] as const satisfies readonly DeliveryState[]) {
    if (user !== null) {
      const events = everyOne((after) => outbox.list(state, pageSize, after))
      await collect(events, ({ event, sink, ...one }) => {
        const { id: userId, email } = event.user
        if (userId !== user.id) return null
        const isSinkOff = sink !== null && !sinkNames.has(sink)
        return { id: event.id, type: event.type, sink, isSinkOff, state, userId, email, at: event.at, ...one }
      })
    }
    const requests = everyOne((after) => tokenRequests.list(state, pageSize, after))
    await collect(requests, ({ request, ...one }) => {
      if (!requestIds.has(request.id)) return null
      const { eventId, purpose, at } = request
      const email = user?.email ?? null
      return { id: eventId, type: callTypeOf[purpose], sink: null, isSinkOff: false, state, email, at, ...one }
    })
  }
  return { deliveries, isComplete }
}
