// The names that embedding programs may rely on. `npm run docs:api` lists them with their signatures.
import type { Portcullis, PortcullisOptions } from './config/runtime/embedded.ts'
import type { PortcullisSettings } from './program-settings.ts'

// From settings to use cases
/**
 * Opens Portcullis with `settings`, the same tree as in the settings file, and loads only the drivers that they name.
 * Rejects with a `SettingsFault` that lists every fault in them. Logs go to standard error (`logs.level`).
 */
export async function openPortcullis(
  settings: PortcullisSettings = {},
  options: PortcullisOptions = {},
): Promise<Portcullis> {
  // Loaded on demand, because a program that builds single use cases needs neither settings nor a container.
  const embedded = await import('./config/runtime/embedded.ts')
  return embedded.openPortcullis(settings, options)
}
export type { PortcullisSettings, TenantSettings } from './program-settings.ts'
export type { Accounts, Portcullis, PortcullisOptions } from './config/runtime/embedded.ts'
export { SettingsFault } from './config/settings/schema/fault.ts'

// Use cases
export {
  Authenticate,
  type Authenticated,
  type Backend,
  type By,
  type CandidateCredential,
} from './application/sign-in/authenticate.ts'
export type { CheckedAccounts } from './config/runtime/checked-accounts.ts'
export { type Change, type ChangeOutcome, ChangeUser } from './application/change-user.ts'
export type { CausingRequest } from './application/event-metadata.ts'
export { CreateSuperuser } from './application/accounts/create-superuser.ts'
export { DeleteUser } from './application/accounts/delete-user.ts'
export { DeliverTokens } from './application/deliveries/deliver-tokens.ts'
export type { DeliveryProblem } from './application/deliveries/delivery-problem.ts'
export { runDue } from './application/deliveries/run-due.ts'
export { FinishOAuth, type OAuthPolicy } from './application/oauth/finish-oauth.ts'
export { IssueResetToken } from './application/one-time-tokens/issue-reset-token.ts'
export { LinkOAuth } from './application/oauth/link-oauth.ts'
export { ListUsers } from './application/accounts/list-users.ts'
export type { LoginResult } from './application/sign-in/complete-login.ts'
export { EndSession } from './application/sign-in/end-session.ts'
export { ListSessions, type SessionView } from './application/sign-in/list-sessions.ts'
export { LogIn } from './application/sign-in/log-in.ts'
export { LogOut } from './application/sign-in/log-out.ts'
export { LogOutEverywhere } from './application/sign-in/log-out-everywhere.ts'
export type { Arrival, AuthorizationResponse } from './application/oauth/redeem-return.ts'
export { PromoteUser } from './application/accounts/promote-user.ts'
export { ReadProviderToken } from './application/oauth/read-provider-token.ts'
export { ReadUser } from './application/accounts/read-user.ts'
export { RegisterUser } from './application/accounts/register-user.ts'
export { RejectAccount } from './application/one-time-tokens/reject-account.ts'
export { RelayEvents } from './application/deliveries/relay-events.ts'
export { RequestToken } from './application/one-time-tokens/request-token.ts'
export { ResetPassword } from './application/one-time-tokens/reset-password.ts'
export { StartOAuth } from './application/oauth/start-oauth.ts'
export { Sweep } from './application/deliveries/sweep.ts'
export { UnlinkOAuth } from './application/oauth/unlink-oauth.ts'
export { type AnyChanges, type OwnChanges, UpdateUser } from './application/accounts/update-user.ts'
export { ListUndelivered, RetryDeliveries, type Undelivered } from './application/deliveries/undelivered.ts'
export { VerifyUser } from './application/one-time-tokens/verify-user.ts'

// Limits: the needs of use cases that limit guessing
export { CountedLimits, type LimitFigures } from './application/limits/counted-limits.ts'
export { type Attack, type AttackReport, ReportAttack } from './application/limits/report-attack.ts'
export {
  type Caller,
  type ClientLimit,
  type Limits,
  type PasswordAttempt,
  type TokenDemand,
  unlimited,
} from './application/limits/limits.ts'

// Ports: the needs of use cases
export type { Credential, Credentials, IssuedCredential, Proof } from './application/ports/credentials.ts'
export type { DeviceTokens } from './application/ports/device-tokens.ts'
export type { DueWork } from './application/ports/due-work.ts'
export {
  type CallbackParameters,
  CodeRefused,
  type Journey,
  type OAuthProvider,
  ProviderFailed,
} from './application/ports/oauth-provider.ts'
export type { ExpiringIds } from './application/ports/stores/expiring-ids.ts'
export type { Counted, Limiter } from './application/ports/stores/limiter.ts'
export type { OAuthStateStore } from './application/ports/stores/oauth-state-store.ts'
export type { LeasedEvent, Outbox, UndeliveredEvent } from './application/ports/stores/outbox.ts'
export type { DeliveryState, Page } from './application/ports/stores/page.ts'
export type { PasswordHasher } from './application/ports/password-hasher.ts'
export type { ProviderVault } from './application/ports/provider-vault.ts'
export type { KeyRing } from './application/ports/key-ring.ts'
export type { SecretMark } from './application/ports/stores/secret-mark.ts'
export type { SessionStore } from './application/ports/stores/session-store.ts'
export {
  type EventHandlers,
  type HandlerCall,
  type HandlerCallType,
  type HandlerContext,
  HandlerFailed,
} from './application/ports/event-handlers.ts'
export {
  type LeasedRequest,
  maxWaitingRequests,
  type TokenRequests,
  type UndeliveredRequest,
} from './application/ports/stores/token-requests.ts'
export type { TokenStore } from './application/ports/stores/token-store.ts'
export type { UserStore } from './application/ports/stores/user-store.ts'
export type { Timers } from './application/ports/timers.ts'

// Values and rules
export type { Actor, ActorWithoutLogin } from './domain/actor.ts'
export { type Email, emailKey, type EmailKey, isEmail, type ParsedEmail } from './domain/email.ts'
export {
  type AccountEvent,
  type AccountEventType,
  haveRoom,
  maxWaitingEvents,
  type UserChanges,
} from './domain/events.ts'
export { type EventId, isUserId, type NewId, parseEventId, parseUserId, type UserId } from './domain/ids.ts'
export type { OAuthAccount, OAuthIdentity, ProviderTokens } from './domain/oauth-account.ts'
export type { OAuthFlow, OAuthState } from './domain/oauth-state.ts'
export type { OneTimeToken, RequestPurpose, TokenPurpose, TokenRequest } from './domain/one-time-token.ts'
export {
  maxPasswordBytes,
  type PasswordObjection,
  passwordObjection,
  type PasswordPolicy,
  type PasswordRule,
  passwordRules,
  passwordScheme,
} from './domain/password.ts'
export {
  InvalidInput,
  LimitReached,
  Refusal,
  type RefusalCode,
  type RefusalRule,
  Unavailable,
} from './domain/refusal.ts'
export { type ClientTraits, expiryOf, type Session } from './domain/session.ts'
export { isAlive, mayBeEnded, newUser, type Sessions, type User, type UserView, viewOf } from './domain/user.ts'

// Adapters: the needs of a use case that is made with `new`
export { jwtCredentials } from './adapters/credentials/jwt.ts'
export { storedCredentials } from './adapters/credentials/stored.ts'
export type { Argon2Hasher } from './adapters/crypto/argon2-hasher.ts'
export { isCommonPassword } from './adapters/crypto/common-passwords.ts'
export { deviceTokens, deviceTokenSeconds } from './adapters/crypto/device-tokens.ts'
export { newId } from './adapters/crypto/new-id.ts'
export { derivedKeys, type DerivedKeys, newToken, secretMark } from './adapters/crypto/derived-keys.ts'
export { providerVault } from './adapters/crypto/provider-vault.ts'
export { functionHandlers } from './adapters/events/function-handlers.ts'
export { deliveryLoop, type DeliveryLoop, type DeliveryLoopOptions } from './adapters/events/delivery-loop.ts'
export { type HandlerName, type Handlers, handlerNames } from './adapters/events/handlers.ts'
export type { WireChanges, WireTraits, WireUser } from './adapters/events/handler-arguments.ts'
export {
  type Lease,
  type OpenOptions,
  type RolePorts,
  type Shares,
  type StoreBackend,
  type StoreHandle,
  type StoreLifecycle,
  type StoreRole,
  Unsuitable,
  type UsersRole,
} from './adapters/stores/store-backend.ts'
export type { PortName, StorePorts } from './adapters/stores/store-ports.ts'
export { acceptedLanguages } from './lib/languages.ts'
export { timers } from './lib/timers.ts'
export { parseEmail, toEmail } from './adapters/addresses/parse-email.ts'
export {
  openStore,
  type OpenStore,
  type OpenStoreOf,
  type OpenStoreOptions,
  type StoreAddress,
  type StoreKind,
} from './config/plugins/open-store.ts'
export { passwordHasher, type PasswordHasherOptions } from './config/composition/shared-resources.ts'
