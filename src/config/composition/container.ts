import 'reflect-metadata'
import { Container } from 'inversify'
import { ChangeAccount } from '../../application/accounts/change-account.ts'
import { ChangeOwnAccount } from '../../application/accounts/change-own-account.ts'
import { CreateSuperuser } from '../../application/accounts/create-superuser.ts'
import { DeleteUser } from '../../application/accounts/delete-user.ts'
import { ExportUser } from '../../application/accounts/export-user.ts'
import { ListUsers } from '../../application/accounts/list-users.ts'
import { PromoteUser } from '../../application/accounts/promote-user.ts'
import { ReadUser } from '../../application/accounts/read-user.ts'
import { RegisterUser } from '../../application/accounts/register-user.ts'
import { CreateUser } from '../../application/administration/create-user.ts'
import { InviteUser } from '../../application/administration/invite-user.ts'
import { LookUpUser } from '../../application/administration/look-up-user.ts'
import { SearchUsers } from '../../application/administration/search-users.ts'
import { ChangeUser } from '../../application/change-user.ts'
import { DeliverTokens } from '../../application/deliveries/deliver-tokens.ts'
import { RelayEvents } from '../../application/deliveries/relay-events.ts'
import { Sweep } from '../../application/deliveries/sweep.ts'
import { DiscardDeliveries, ListUndelivered, RetryDeliveries } from '../../application/deliveries/undelivered.ts'
import { ExplainLogin } from '../../application/explain/explain-login.ts'
import { ReadDetails } from '../../application/explain/read-details.ts'
import { BeginTotp } from '../../application/factors/begin-totp.ts'
import { ConfirmTotp } from '../../application/factors/confirm-totp.ts'
import { FinishLogin } from '../../application/factors/finish-login.ts'
import { KeepFactors, RedeemKeepFactors } from '../../application/factors/keep-factors.ts'
import { RemoveFactors } from '../../application/factors/remove-factors.ts'
import { RenewRecoveryCodes } from '../../application/factors/renew-recovery-codes.ts'
import { ResetFactors } from '../../application/factors/reset-factors.ts'
import { ReportAttack } from '../../application/limits/report-attack.ts'
import { FinishOAuth } from '../../application/oauth/finish-oauth.ts'
import { LinkOAuth } from '../../application/oauth/link-oauth.ts'
import { ReadProviderToken } from '../../application/oauth/read-provider-token.ts'
import { StartOAuth } from '../../application/oauth/start-oauth.ts'
import { UnlinkOAuth } from '../../application/oauth/unlink-oauth.ts'
import { CheckResetToken } from '../../application/one-time-tokens/check-reset-token.ts'
import { IssueResetToken } from '../../application/one-time-tokens/issue-reset-token.ts'
import { RejectAccount } from '../../application/one-time-tokens/reject-account.ts'
import { RequestToken } from '../../application/one-time-tokens/request-token.ts'
import { ResetPassword } from '../../application/one-time-tokens/reset-password.ts'
import { VerifyUser } from '../../application/one-time-tokens/verify-user.ts'
import { AddPasskey } from '../../application/passkeys/add-passkey.ts'
import { BeginPasskey } from '../../application/passkeys/begin-passkey.ts'
import { ChangePasskey } from '../../application/passkeys/change-passkey.ts'
import { BeginPasskeyLogin, LogInByPasskey } from '../../application/passkeys/log-in-by-passkey.ts'
import { Authenticate } from '../../application/sign-in/authenticate.ts'
import { EndSession } from '../../application/sign-in/end-session.ts'
import { ListSessions } from '../../application/sign-in/list-sessions.ts'
import { LogIn } from '../../application/sign-in/log-in.ts'
import { LogOut } from '../../application/sign-in/log-out.ts'
import { LogOutEverywhere } from '../../application/sign-in/log-out-everywhere.ts'
import type { Ports } from './ports.ts'

/** All use cases, except those of apps (`apps.ts`). The compiler checks that the ports have their needs. */
const classes = {
  addPasskey: AddPasskey,
  authenticate: Authenticate,
  beginPasskey: BeginPasskey,
  beginPasskeyLogin: BeginPasskeyLogin,
  beginTotp: BeginTotp,
  changeAccount: ChangeAccount,
  changeOwnAccount: ChangeOwnAccount,
  changePasskey: ChangePasskey,
  changeUser: ChangeUser,
  checkResetToken: CheckResetToken,
  confirmTotp: ConfirmTotp,
  createSuperuser: CreateSuperuser,
  createUser: CreateUser,
  deleteUser: DeleteUser,
  deliverTokens: DeliverTokens,
  discardDeliveries: DiscardDeliveries,
  endSession: EndSession,
  explainLogin: ExplainLogin,
  exportUser: ExportUser,
  finishLogin: FinishLogin,
  finishOAuth: FinishOAuth,
  inviteUser: InviteUser,
  issueResetToken: IssueResetToken,
  keepFactors: KeepFactors,
  linkOAuth: LinkOAuth,
  listSessions: ListSessions,
  listUndelivered: ListUndelivered,
  listUsers: ListUsers,
  logIn: LogIn,
  logInByPasskey: LogInByPasskey,
  logOut: LogOut,
  logOutEverywhere: LogOutEverywhere,
  lookUpUser: LookUpUser,
  promoteUser: PromoteUser,
  readDetails: ReadDetails,
  readProviderToken: ReadProviderToken,
  readUser: ReadUser,
  redeemKeepFactors: RedeemKeepFactors,
  registerUser: RegisterUser,
  rejectAccount: RejectAccount,
  relayEvents: RelayEvents,
  reportAttack: ReportAttack,
  removeFactors: RemoveFactors,
  renewRecoveryCodes: RenewRecoveryCodes,
  requestToken: RequestToken,
  resetFactors: ResetFactors,
  resetPassword: ResetPassword,
  retryDeliveries: RetryDeliveries,
  searchUsers: SearchUsers,
  startOAuth: StartOAuth,
  sweep: Sweep,
  unlinkOAuth: UnlinkOAuth,
  verifyUser: VerifyUser,
} as const satisfies Readonly<Record<string, new (needs: Ports & { readonly changeUser: ChangeUser }) => object>>

type Classes = typeof classes
type Name = keyof Classes

export type UseCases<Wanted extends Name = Name> = { readonly [One in Wanted]: InstanceType<Classes[One]> }

type Every<Union> = (Union extends unknown ? (one: Union) => void : never) extends (every: infer All) => void
  ? All
  : never

/** The ports that these use cases need together. */
type PortsOf<Wanted extends Name> = Omit<Every<ConstructorParameters<Classes[Wanted]>[0]>, 'changeUser'> &
  ConstructorParameters<typeof ChangeUser>[0]

/** Builds use cases of one tenant in a container of its own, since singletons keep the stores of a tenant. */
export function useCasesOf<Wanted extends Name = Name>(
  ports: PortsOf<Wanted>,
  wanted: readonly Wanted[] = Object.keys(classes) as Wanted[], // safe: the default stands for all
): UseCases<Wanted> {
  const container = new Container({ defaultScope: 'Singleton' })
  container.bind('changeUser').toDynamicValue(() => new ChangeUser(ports))
  container.bind('needs').toDynamicValue(({ get }) => ({ ...ports, changeUser: get('changeUser') }))
  const useCases = wanted.map((name) => {
    const type: new (needs: never) => object = classes[name]
    if (!container.isBound(name)) container.bind(name).toDynamicValue(({ get }) => new type(get<never>('needs')))
    return [name, container.get(name)]
  })
  return Object.fromEntries(useCases) // safe: built from `classes`, name by name
}
