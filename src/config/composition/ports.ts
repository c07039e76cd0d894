import 'reflect-metadata'
import { Container } from 'inversify'
import { isCommonPassword } from '../../adapters/crypto/common-passwords.ts'
import { type DerivedKeys, newToken } from '../../adapters/crypto/derived-keys.ts'
import { newId } from '../../adapters/crypto/new-id.ts'
import { providerVault } from '../../adapters/crypto/provider-vault.ts'
import type { DeliveryProblem } from '../../application/deliveries/delivery-problem.ts'
import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import type { CodeRefused, ProviderFailed } from '../../application/ports/oauth-provider.ts'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import type { UserStore } from '../../application/ports/stores/user-store.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import { bindUseCases } from './container.ts'
import type { OpenStores } from './stores.ts'
import * as t from './tokens.ts'

interface Parts {
  readonly tenant: string
  readonly settings: Settings
  readonly stores: Pick<OpenStores, 'users' | 'sessions' | 'tokens' | 'oauthStates'>
  readonly keyRing: DerivedKeys
  readonly hasher: PasswordHasher
  readonly eventHandlers: EventHandlers
  readonly clock: () => Date
  readonly report: (problem: DeliveryProblem) => void
  readonly reportProvider: (name: string, failure: CodeRefused | ProviderFailed) => void
  /** Called when events were written. */
  readonly wake: () => void
}

/** One container per tenant, with nothing above it. */
export function tenantContainer(parts: Parts): Container {
  const { settings, stores } = parts
  const container = new Container()
  const bind = <T>(name: t.Token<T>, value: NoInfer<T>): void => {
    container.bind<T>(name).toConstantValue(value)
  }

  bind(t.Tenant, parts.tenant)
  bind(t.Users, waking(stores.users.users, parts.wake))
  bind(t.Outbox, stores.users.outbox)
  bind(t.TokenRequests, stores.users.tokenRequests)
  bind(t.Sessions, stores.sessions)
  bind(t.Tokens, stores.tokens)
  bind(t.KeyRing, parts.keyRing)
  bind(t.OAuthStates, stores.oauthStates)
  bind(t.Vault, providerVault(parts.keyRing.providerTokenKey()))
  bind(t.NewToken, newToken)
  bind(t.ProviderNames, new Set(enabledOf(settings.providers).map(([name]) => name)))
  bind(t.Hasher, parts.hasher)
  bind(t.EventHandlers, parts.eventHandlers)
  bind(t.Policy, { minLength: settings.passwords.minLength, isCommon: isCommonPassword })
  bind(t.Clock, parts.clock)
  bind(t.NewId, newId)
  bind(t.Random, Math.random)
  bind(t.FreshLoginSeconds, settings.security.freshLoginSeconds || null)
  bind(t.MaxOpenJourneys, settings.security.maxOpenJourneys)
  bind(t.Lifetimes, {
    reset_password: settings.tokens.resetLifetimeSeconds,
    verify_email: settings.tokens.verifyLifetimeSeconds,
  })
  bind(t.LeaseSeconds, settings.events.leaseSeconds)
  bind(t.HandlerTimeoutSeconds, settings.handlers.timeoutSeconds)
  bind(t.Report, parts.report)
  bind(t.ReportProvider, parts.reportProvider)
  bindUseCases(container)
  return container
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
