import 'reflect-metadata'
import { Container } from 'inversify'
import { CreateSuperuser } from '../../application/accounts/create-superuser.ts'
import { DeleteUser } from '../../application/accounts/delete-user.ts'
import { PromoteUser } from '../../application/accounts/promote-user.ts'
import { ReadUser } from '../../application/accounts/read-user.ts'
import { RegisterUser } from '../../application/accounts/register-user.ts'
import { UpdateUser } from '../../application/accounts/update-user.ts'
import { ChangeUser } from '../../application/change-user.ts'
import { DeliverTokens } from '../../application/deliveries/deliver-tokens.ts'
import { RelayEvents } from '../../application/deliveries/relay-events.ts'
import { Sweep } from '../../application/deliveries/sweep.ts'
import { ReportAttack } from '../../application/limits/report-attack.ts'
import { FinishOAuth } from '../../application/oauth/finish-oauth.ts'
import { LinkOAuth } from '../../application/oauth/link-oauth.ts'
import { ReadProviderToken } from '../../application/oauth/read-provider-token.ts'
import { StartOAuth } from '../../application/oauth/start-oauth.ts'
import { UnlinkOAuth } from '../../application/oauth/unlink-oauth.ts'
import { CheckResetToken } from '../../application/one-time-tokens/check-reset-token.ts'
import { RejectAccount } from '../../application/one-time-tokens/reject-account.ts'
import { RequestToken } from '../../application/one-time-tokens/request-token.ts'
import { ResetPassword } from '../../application/one-time-tokens/reset-password.ts'
import { VerifyUser } from '../../application/one-time-tokens/verify-user.ts'
import { Authenticate } from '../../application/sign-in/authenticate.ts'
import { EndSession } from '../../application/sign-in/end-session.ts'
import { ListSessions } from '../../application/sign-in/list-sessions.ts'
import { LogIn } from '../../application/sign-in/log-in.ts'
import { LogOut } from '../../application/sign-in/log-out.ts'
import { LogOutEverywhere } from '../../application/sign-in/log-out-everywhere.ts'
import type { Ports } from './ports.ts'

/** All ports by name, and the one use case that other use cases need. */
type Needs = Ports & { readonly changeUser: ChangeUser }

/** All use cases. The compiler checks that the ports have their needs. */
const classes = {
  authenticate: Authenticate,
  changeUser: ChangeUser,
  checkResetToken: CheckResetToken,
  createSuperuser: CreateSuperuser,
  deleteUser: DeleteUser,
  deliverTokens: DeliverTokens,
  endSession: EndSession,
  finishOAuth: FinishOAuth,
  linkOAuth: LinkOAuth,
  listSessions: ListSessions,
  logIn: LogIn,
  logOut: LogOut,
  logOutEverywhere: LogOutEverywhere,
  promoteUser: PromoteUser,
  readProviderToken: ReadProviderToken,
  readUser: ReadUser,
  registerUser: RegisterUser,
  rejectAccount: RejectAccount,
  relayEvents: RelayEvents,
  reportAttack: ReportAttack,
  requestToken: RequestToken,
  resetPassword: ResetPassword,
  startOAuth: StartOAuth,
  sweep: Sweep,
  unlinkOAuth: UnlinkOAuth,
  updateUser: UpdateUser,
  verifyUser: VerifyUser,
} as const satisfies Readonly<Record<string, new (needs: Needs) => object>>

export type UseCases = { readonly [Name in keyof typeof classes]: InstanceType<(typeof classes)[Name]> }

/** Builds the use cases of one tenant in its own container, since singletons keep the stores of a tenant. */
export function useCasesOf(ports: Ports): UseCases {
  const container = new Container({ defaultScope: 'Singleton' })
  container.bind(ChangeUser).toDynamicValue(() => new ChangeUser(ports))
  container.bind<Needs>('needs').toDynamicValue(({ get }) => ({ ...ports, changeUser: get(ChangeUser) }))
  const useCases = Object.entries(classes).map(([name, type]: [string, new (needs: Needs) => object]) => {
    if (!container.isBound(type)) container.bind(type).toDynamicValue(({ get }) => new type(get('needs')))
    return [name, container.get(type)]
  })
  return Object.fromEntries(useCases) // safe: built from `classes`, name by name
}
