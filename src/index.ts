// The names that embedding programs may rely on. `npm run docs:api` lists them with their signatures. Single use cases are in
// core.ts.
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
  // Loaded on demand, because a program that only opens a store needs neither settings nor a container.
  const embedded = await import('./config/runtime/embedded.ts')
  return embedded.openPortcullis(settings, options)
}
export type { PortcullisSettings, TenantSettings } from './program-settings.ts'
export type { Accounts, Portcullis, PortcullisOptions } from './config/runtime/embedded.ts'
export { SettingsFault } from './config/settings/schema/fault.ts'

// Inputs and results of the use cases
export type { Authenticated, Backend, By, CandidateCredential } from './application/sign-in/authenticate.ts'
export type { CheckedAccounts } from './adapters/http/checked-accounts.ts'
export type { CheckedAdmin } from './adapters/http/checked-admin.ts'
export type { NewAccount } from './application/administration/create-user.ts'
export type { FoundUsers, UserSearch } from './application/administration/search-users.ts'
export type { Cause, CauseCode } from './application/explain/causes.ts'
export type { LoginExplanation } from './application/explain/explanation.ts'
export type { OpenLink } from './application/explain/person-state.ts'
export type { UserDetails } from './application/explain/read-details.ts'
export type { RefusedLogin, RefusedReason } from './domain/refused-login.ts'
export type { RequestFacts } from './application/event-metadata.ts'
export type { LoginResult } from './application/sign-in/complete-login.ts'
export type { SessionView } from './application/sign-in/list-sessions.ts'
export type { AnyChanges, OwnChanges } from './application/accounts/account-changes.ts'

// Limits
export type { Caller, ClientLimit, Limits, PasswordAttempt, TokenDemand } from './application/limits/limits.ts'

// Ports
export type { Credential, Credentials, IssuedCredential, Proof } from './application/ports/credentials.ts'
export type { DeviceTokens } from './application/ports/device-tokens.ts'
export {
  type CallbackParameters,
  CodeRefused,
  type Journey,
  type OAuthProvider,
  ProviderFailed,
} from './application/ports/oauth-provider.ts'
export type { ExpiringMarks } from './application/ports/stores/expiring-marks.ts'
export type { Counted, Limiter } from './application/ports/stores/limiter.ts'
export type { LoginTimes } from './application/ports/stores/login-times.ts'
export type { SingleUseRecords } from './application/ports/stores/single-use-records.ts'
export {
  type DeliveryKey,
  fullSinkSeconds,
  type LeasedEvent,
  maxWaitingDeliveries,
  type Outbox,
  type SinkName,
  type SinksOf,
  type UndeliveredEvent,
} from './application/ports/stores/outbox.ts'
export type { DeliveryState, Page } from './application/ports/stores/page.ts'
export type { PasswordHasher } from './application/ports/password-hasher.ts'
export type { TenantTexts } from './application/ports/stores/tenant-texts.ts'
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
export type { UserIds } from './application/ports/stores/user-ids.ts'
export {
  type Taken,
  takenAmong,
  type UserCount,
  type UserStore,
  type WriteOptions,
} from './application/ports/stores/user-store.ts'

// Values and rules
export type { Actor, ActorWithoutLogin } from './domain/actor.ts'
export { type Email, emailKey, type EmailKey, isEmail, type ParsedEmail } from './domain/email.ts'
export {
  type AccountEvent,
  accountEventTypes,
  type AccountEventType,
  haveRoom,
  maxWaitingEvents,
  type UserChanges,
} from './domain/events.ts'
export type { FieldValue, FieldValues } from './domain/field.ts'
export type { GivenFields, HiddenFields, OwnFields, PrivateFields, ShownFields } from './domain/field-types.ts'
export { type Factors, noFactors } from './domain/factors.ts'
export { noFields, type UserFields } from './domain/fields.ts'
export {
  type EventId,
  type IdKind,
  isUserId,
  jsonId,
  kindOf,
  type NewId,
  parseEventId,
  parseUserId,
  tenantRecordId,
  type UserId,
} from './domain/ids.ts'
export type { OAuthAccount, OAuthIdentity, ProviderTokens } from './domain/oauth-account.ts'
export type { SingleUseRecord } from './domain/single-use-record.ts'
export {
  factText,
  type OneTimeToken,
  parseFact,
  type RequestPurpose,
  type TokenFact,
  type TokenPurpose,
  type TokenRequest,
} from './domain/one-time-token.ts'
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
export {
  isActiveSuperuser,
  isAlive,
  mayBeEnded,
  newUser,
  type Sessions,
  type User,
  type UserView,
  viewOf,
} from './domain/user.ts'
export { type KeyKind, keysOf, textOfKey, type UniqueKey, unique } from './domain/user-record.ts'

export { type FoundUser, type KeyPrefix, meets, type UserCriteria } from './domain/user-criteria.ts'

// Handlers, stores and helpers
export { newId } from './adapters/crypto/new-id.ts'
export { type HandlerName, type Handlers, handlerNames } from './adapters/events/handlers.ts'
export type { WireActor, WireChanges, WireContext, WireTraits, WireUser } from './adapters/events/handler-arguments.ts'
export type { OpenOwnStore, OwnStore, OwnStoreOptions } from './adapters/stores/own-store.ts'
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
export { parseEmail, toEmail } from './adapters/addresses/parse-email.ts'
export {
  openStore,
  type OpenStore,
  type OpenStoreOf,
  type OpenStoreOptions,
  type StoreAddress,
  type StoreKind,
} from './config/plugins/open-store.ts'
