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
import type { TokenPurpose } from '../../domain/one-time-token.ts'
import type { PasswordPolicy } from '../../domain/password.ts'
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

/** Every argument of every use case, under the name that the use case has for it. */
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
  /** Called when events were written. */
  readonly wake: () => void
}

/** Here settings become arguments of use cases. */
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

/** The relay need not poll for what this process wrote itself. */
function waking(users: UserStore, wake: () => void): UserStore {
  const woken = (events: readonly unknown[], outcome: string): void => {
    if (events.length > 0 && (outcome === 'stored' || outcome === 'removed')) wake()
  }
  return {
    find: (id) => users.find(id),
    findByOAuthAccount: (provider, accountId) => users.findByOAuthAccount(provider, accountId),
    findByEmail: (key) => users.findByEmail(key),
    passwordSchemes: () => users.passwordSchemes(),
    async insert(user, events) {
      const outcome = await users.insert(user, events)
      woken(events, outcome)
      return outcome
    },
    async replace(user, events) {
      const outcome = await users.replace(user, events)
      woken(events, outcome)
      return outcome
    },
    async remove(user, events) {
      const outcome = await users.remove(user, events)
      woken(events, outcome)
      return outcome
    },
  }
}
