import type { Container, ServiceIdentifier } from 'inversify'
import { CreateSuperuser } from '../../application/accounts/create-superuser.ts'
import { DeleteUser } from '../../application/accounts/delete-user.ts'
import { PromoteUser } from '../../application/accounts/promote-user.ts'
import { ReadUser } from '../../application/accounts/read-user.ts'
import { RegisterUser } from '../../application/accounts/register-user.ts'
import { RequestToken } from '../../application/accounts/request-token.ts'
import { ResetPassword } from '../../application/accounts/reset-password.ts'
import { UpdateUser } from '../../application/accounts/update-user.ts'
import { VerifyUser } from '../../application/accounts/verify-user.ts'
import { ChangeUser } from '../../application/change-user.ts'
import { DeliverTokens } from '../../application/deliveries/deliver-tokens.ts'
import { RelayEvents } from '../../application/deliveries/relay-events.ts'
import { Sweep } from '../../application/deliveries/sweep.ts'
import { FinishOAuth } from '../../application/oauth/finish-oauth.ts'
import { LinkOAuth } from '../../application/oauth/link-oauth.ts'
import { ReadProviderToken } from '../../application/oauth/read-provider-token.ts'
import { StartOAuth } from '../../application/oauth/start-oauth.ts'
import { UnlinkOAuth } from '../../application/oauth/unlink-oauth.ts'
import { Authenticate } from '../../application/sign-in/authenticate.ts'
import { LogIn } from '../../application/sign-in/log-in.ts'
import { LogOut } from '../../application/sign-in/log-out.ts'
import { bindClass } from './bind-class.ts'
import * as t from './tokens.ts'

/** Everything the service can do, and what each of it needs: the table of contents of the application. Answers the names. */
export function bindUseCases(container: Container): readonly ServiceIdentifier[] {
  const occasions = { clock: t.Clock, newId: t.NewId }
  const choosing = { hasher: t.Hasher, policy: t.Policy }
  const redeeming = { users: t.Users, changeUser: ChangeUser, tokens: t.Tokens, keyRing: t.KeyRing }
  const delivering = {
    users: t.Users,
    tokens: t.Tokens,
    eventHandlers: t.EventHandlers,
    tenant: t.Tenant,
    clock: t.Clock,
    random: t.Random,
    handlerTimeoutSeconds: t.HandlerTimeoutSeconds,
    leaseSeconds: t.LeaseSeconds,
    report: t.Report,
  }
  const returning = { oauthStates: t.OAuthStates, keyRing: t.KeyRing, clock: t.Clock }

  return [
    bindClass(container, ChangeUser, { users: t.Users }),
    bindClass(container, Authenticate, { users: t.Users }),
    bindClass(container, RegisterUser, { ...occasions, ...choosing, users: t.Users }),
    bindClass(container, CreateSuperuser, { ...occasions, ...choosing, users: t.Users }),
    bindClass(container, PromoteUser, { ...occasions, users: t.Users, changeUser: ChangeUser }),
    bindClass(container, LogIn, {
      ...occasions,
      users: t.Users,
      changeUser: ChangeUser,
      hasher: t.Hasher,
      eventHandlers: t.EventHandlers,
    }),
    bindClass(container, StartOAuth, { ...returning, newToken: t.NewToken, maxOpenJourneys: t.MaxOpenJourneys }),
    bindClass(container, FinishOAuth, {
      ...occasions,
      ...returning,
      users: t.Users,
      changeUser: ChangeUser,
      eventHandlers: t.EventHandlers,
      vault: t.Vault,
    }),
    bindClass(container, LinkOAuth, { ...occasions, ...returning, changeUser: ChangeUser, vault: t.Vault }),
    bindClass(container, UnlinkOAuth, { changeUser: ChangeUser, providerNames: t.ProviderNames }),
    bindClass(container, ReadProviderToken, {
      users: t.Users,
      changeUser: ChangeUser,
      vault: t.Vault,
      clock: t.Clock,
      reportProvider: t.ReportProvider,
    }),
    bindClass(container, LogOut, { changeUser: ChangeUser, clock: t.Clock }),
    bindClass(container, RequestToken, { ...occasions, tokenRequests: t.TokenRequests, keyRing: t.KeyRing }),
    bindClass(container, ResetPassword, { ...occasions, ...choosing, ...redeeming }),
    bindClass(container, VerifyUser, { ...occasions, ...redeeming }),
    bindClass(container, ReadUser, { users: t.Users }),
    bindClass(container, UpdateUser, {
      ...occasions,
      ...choosing,
      changeUser: ChangeUser,
      freshLoginSeconds: t.FreshLoginSeconds,
    }),
    bindClass(container, DeleteUser, {
      ...occasions,
      changeUser: ChangeUser,
      eventHandlers: t.EventHandlers,
      tenant: t.Tenant,
    }),
    bindClass(container, RelayEvents, { ...delivering, outbox: t.Outbox, sessions: t.Sessions }),
    bindClass(container, DeliverTokens, {
      ...delivering,
      tokenRequests: t.TokenRequests,
      keyRing: t.KeyRing,
      lifetimes: t.Lifetimes,
    }),
    bindClass(container, Sweep, {
      sessions: t.Sessions,
      tokens: t.Tokens,
      tokenRequests: t.TokenRequests,
      oauthStates: t.OAuthStates,
      outbox: t.Outbox,
      clock: t.Clock,
      lifetimes: t.Lifetimes,
    }),
  ]
}
