import { isCommonPassword } from '../../adapters/crypto/common-passwords.ts'
import { type DerivedKeys, newToken } from '../../adapters/crypto/derived-keys.ts'
import { newId } from '../../adapters/crypto/new-id.ts'
import { providerVault } from '../../adapters/crypto/provider-vault.ts'
import type { DeliveryProblem } from '../../application/deliveries/delivery-problem.ts'
import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import type { KeyRing } from '../../application/ports/key-ring.ts'
import type { CodeRefused, ProviderFailed } from '../../application/ports/oauth-provider.ts'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import type { ProviderVault } from '../../application/ports/provider-vault.ts'
import type { ExpiringIds } from '../../application/ports/stores/expiring-ids.ts'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { Outbox } from '../../application/ports/stores/outbox.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { TokenRequests } from '../../application/ports/stores/token-requests.ts'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import type { UserStore } from '../../application/ports/stores/user-store.ts'
import type { Timers } from '../../application/ports/timers.ts'
import type { AccountEvent } from '../../domain/events.ts'
import type { TokenPurpose } from '../../domain/one-time-token.ts'
import type { PasswordPolicy } from '../../domain/password.ts'
import type { User } from '../../domain/user.ts'
import { timers } from '../../lib/timers.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import type { OpenStores } from './stores.ts'

/** The ports that only users and passwords need. */
export interface UserPorts {
  readonly users: UserStore
  readonly hasher: PasswordHasher
  readonly policy: PasswordPolicy
  readonly clock: () => Date
  readonly timers: Timers
  readonly random: () => number
  readonly newId: () => string
}

/** The needs of all use cases, under the names that the use cases give them. */
export interface Ports extends UserPorts {
  readonly tenant: string
  readonly outbox: Outbox
  readonly tokenRequests: TokenRequests
  readonly expiringIds: ExpiringIds
  readonly sessions: SessionStore
  readonly tokens: TokenStore
  readonly oauthStates: OAuthStateStore
  readonly keyRing: KeyRing
  readonly vault: ProviderVault
  readonly newToken: () => string
  readonly providerNames: ReadonlySet<string>
  readonly eventHandlers: EventHandlers
  readonly freshLoginSeconds: number | null
  readonly requiresSession: boolean
  readonly maxOpenJourneys: number
  readonly lifetimes: Readonly<Record<TokenPurpose, number>>
  readonly leaseSeconds: number
  readonly handlerTimeoutSeconds: number
  readonly report: (problem: DeliveryProblem) => void
  readonly reportProvider: (name: string, failure: CodeRefused | ProviderFailed) => void
}

interface Opened
  extends Pick<Ports, 'tenant' | 'hasher' | 'eventHandlers' | 'clock' | 'report' | 'reportProvider'>,
    Pick<OpenStores, 'users' | 'sessions' | 'tokens' | 'oauthStates'> {
  readonly keyRing: DerivedKeys
  /** Called after a write of events. */
  readonly wake: () => void
}

/** Turns settings and opened resources into the needs of use cases. */
export function portsOf(settings: Settings, opened: Opened): Ports {
  const { users, keyRing, wake, ...others } = opened
  const { clock, hasher } = opened
  return {
    ...others,
    ...userPortsOf(settings, { users: waking(users.users, wake), hasher, clock }),
    outbox: users.outbox,
    tokenRequests: users.tokenRequests,
    expiringIds: users.expiringIds,
    keyRing,
    vault: providerVault(keyRing.providerTokenKey),
    newToken,
    providerNames: new Set(enabledOf(settings.providers).map(([name]) => name)),
    freshLoginSeconds: settings.security.freshLoginSeconds || null,
    requiresSession: settings.verification.requiresSession,
    maxOpenJourneys: settings.security.maxOpenJourneys,
    lifetimes: {
      reset_password: settings.tokens.resetLifetimeSeconds,
      verify_email: settings.tokens.verifyLifetimeSeconds,
    },
    leaseSeconds: settings.events.leaseSeconds,
    handlerTimeoutSeconds: settings.handlers.timeoutSeconds,
  }
}

export function userPortsOf({ passwords }: Settings, opened: Pick<UserPorts, 'users' | 'hasher' | 'clock'>): UserPorts {
  const policy = { minLength: passwords.minLength, isCommon: isCommonPassword }
  return { ...opened, policy, newId, timers, random: Math.random }
}

/** Wakes the relay after each write of events, so that they are delivered before its next poll. */
function waking(users: UserStore, wake: () => void): UserStore {
  function woken<Outcome extends string>(write: (user: User, events: readonly AccountEvent[]) => Promise<Outcome>) {
    return async (user: User, events: readonly AccountEvent[]): Promise<Outcome> => {
      const outcome = await write(user, events)
      if (events.length > 0 && (outcome === 'stored' || outcome === 'removed')) wake()
      return outcome
    }
  }
  return { ...users, insert: woken(users.insert), replace: woken(users.replace), remove: woken(users.remove) }
}
