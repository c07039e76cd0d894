// The use cases as classes, and what `new` needs for them. Their needs follow the rules that they implement, so these names may
// change in any release. `npm run docs:api` lists them with their signatures.
// Use cases
export { Authenticate } from './application/sign-in/authenticate.ts'
export { type Change, type ChangeOutcome, ChangeUser } from './application/change-user.ts'
export { CreateUser } from './application/administration/create-user.ts'
export { InviteUser } from './application/administration/invite-user.ts'
export { CreateSuperuser } from './application/accounts/create-superuser.ts'
export { DeleteUser } from './application/accounts/delete-user.ts'
export { DeliverTokens } from './application/deliveries/deliver-tokens.ts'
export type { DeliveryProblem } from './application/deliveries/delivery-problem.ts'
export { HandlerSink, type NamedHandlers } from './application/deliveries/handler-sink.ts'
export { runDue } from './application/deliveries/run-due.ts'
export { ExportUser, type UserExport } from './application/accounts/export-user.ts'
export { FinishOAuth, type OAuthPolicy } from './application/oauth/finish-oauth.ts'
export { IssueResetToken } from './application/one-time-tokens/issue-reset-token.ts'
export { LinkOAuth } from './application/oauth/link-oauth.ts'
export { ListUsers } from './application/accounts/list-users.ts'
export { EndSession } from './application/sign-in/end-session.ts'
export { ListSessions } from './application/sign-in/list-sessions.ts'
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
export { ExplainLogin } from './application/explain/explain-login.ts'
export { LookUpUser } from './application/administration/look-up-user.ts'
export { ReadDetails } from './application/explain/read-details.ts'
export { type FoundUsers, SearchUsers, type UserSearch } from './application/administration/search-users.ts'
export { SessionsSink } from './application/deliveries/sessions-sink.ts'
export type { Sink } from './application/deliveries/sink.ts'
export { RequestToken } from './application/one-time-tokens/request-token.ts'
export { ResetPassword } from './application/one-time-tokens/reset-password.ts'
export { StartOAuth } from './application/oauth/start-oauth.ts'
export { Sweep } from './application/deliveries/sweep.ts'
export { UnlinkOAuth } from './application/oauth/unlink-oauth.ts'
export { ChangeAccount } from './application/accounts/change-account.ts'
export { ChangeOwnAccount } from './application/accounts/change-own-account.ts'
export {
  DiscardDeliveries,
  ListUndelivered,
  RetryDeliveries,
  type Undelivered,
} from './application/deliveries/undelivered.ts'
export { VerifyUser } from './application/one-time-tokens/verify-user.ts'

// The mark of the secret
export { checkText } from './application/tenant-texts.ts'

// Limits: the needs of use cases that limit guessing
export { CountedLimits } from './application/limits/counted-limits.ts'
export type { LimitFigures } from './application/limits/counters.ts'
export { type Attack, type AttackReport, ReportAttack } from './application/limits/report-attack.ts'
export { unlimited } from './application/limits/limits.ts'

// Ports: the needs of use cases
export type { DueWork } from './application/ports/due-work.ts'
export type { ProviderVault } from './application/ports/provider-vault.ts'
export type { KeyRing } from './application/ports/key-ring.ts'
export type { Timers } from './application/ports/timers.ts'

// Adapters: the other needs of use cases
export { jwtCredentials } from './adapters/credentials/jwt.ts'
export { storedCredentials } from './adapters/credentials/stored.ts'
export type { Argon2Hasher } from './adapters/crypto/argon2-hasher.ts'
export { isCommonPassword } from './adapters/crypto/common-passwords.ts'
export { deviceTokens, deviceTokenSeconds } from './adapters/crypto/device-tokens.ts'
export { derivedKeys, type DerivedKeys, newToken, secretMark } from './adapters/crypto/derived-keys.ts'
export { providerVault } from './adapters/crypto/provider-vault.ts'
export { functionHandlers } from './adapters/events/function-handlers.ts'
export { deliveryLoop, type DeliveryLoop, type DeliveryLoopOptions } from './adapters/events/delivery-loop.ts'
export { timers } from './lib/timers.ts'
export { passwordHasher, type PasswordHasherOptions } from './config/composition/shared-resources.ts'
