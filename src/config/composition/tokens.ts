import type { DeliveryProblem } from '../../application/deliveries/delivery-problem.ts'
import type { EventHandlers as EventHandlersPort } from '../../application/ports/event-handlers.ts'
import type { KeyRing as KeyRingPort } from '../../application/ports/key-ring.ts'
import type { CodeRefused, ProviderFailed } from '../../application/ports/oauth-provider.ts'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import type { ProviderVault } from '../../application/ports/provider-vault.ts'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { Outbox as OutboxPort } from '../../application/ports/stores/outbox.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { TokenRequests as TokenRequestsPort } from '../../application/ports/stores/token-requests.ts'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import type { UserStore } from '../../application/ports/stores/user-store.ts'
import type { TokenPurpose } from '../../domain/one-time-token.ts'
import type { PasswordPolicy } from '../../domain/password.ts'

declare const bound: unique symbol

/**
 * A name in the container that stands for a `T` and for nothing else. Inversify's own `ServiceIdentifier<T>` takes
 * any symbol for any T, so that a store bound under the wrong name would compile.
 */
export type Token<T> = symbol & { readonly [bound]: T }

// Safe: the property exists for the compiler alone.
const token = <T>(name: string): Token<T> => Symbol(name) as Token<T>

export const Users = token<UserStore>('users')
export const Outbox = token<OutboxPort>('outbox')
export const TokenRequests = token<TokenRequestsPort>('token requests')
export const Sessions = token<SessionStore>('sessions')
export const Tokens = token<TokenStore>('tokens')
export const OAuthStates = token<OAuthStateStore>('OAuth states')
export const Vault = token<ProviderVault>('vault')
export const NewToken = token<() => string>('new token')
export const ProviderNames = token<ReadonlySet<string>>('provider names')
export const Hasher = token<PasswordHasher>('hasher')
export const KeyRing = token<KeyRingPort>('keyRing')
export const EventHandlers = token<EventHandlersPort>('eventHandlers')
export const Policy = token<PasswordPolicy>('policy')
export const Clock = token<() => Date>('clock')
export const NewId = token<() => string>('new id')
export const Random = token<() => number>('random')
export const Tenant = token<string>('tenant')
export const FreshLoginSeconds = token<number | null>('fresh login seconds')
export const MaxOpenJourneys = token<number>('max open journeys')
export const Lifetimes = token<Readonly<Record<TokenPurpose, number>>>('lifetimes')
export const LeaseSeconds = token<number>('lease seconds')
export const HandlerTimeoutSeconds = token<number>('handler timeout seconds')
export const Report = token<(problem: DeliveryProblem) => void>('report')
export const ReportProvider =
  token<(name: string, failure: CodeRefused | ProviderFailed) => void>('report of providers')
