import type { Container, ServiceIdentifier } from 'inversify'
import { Authenticate } from '../application/authenticate.ts'
import { ChangeUser } from '../application/change-user.ts'
import { CreateSuperuser } from '../application/create-superuser.ts'
import { DeleteUser } from '../application/delete-user.ts'
import { DeliverTokens } from '../application/deliver-tokens.ts'
import { FinishOAuth } from '../application/finish-oauth.ts'
import { LinkOAuth } from '../application/link-oauth.ts'
import { LogIn } from '../application/log-in.ts'
import { LogOut } from '../application/log-out.ts'
import { PromoteUser } from '../application/promote-user.ts'
import { ReadProviderToken } from '../application/read-provider-token.ts'
import { ReadUser } from '../application/read-user.ts'
import { RegisterUser } from '../application/register-user.ts'
import { RelayEvents } from '../application/relay-events.ts'
import { RequestToken } from '../application/request-token.ts'
import { ResetPassword } from '../application/reset-password.ts'
import { StartOAuth } from '../application/start-oauth.ts'
import { Sweep } from '../application/sweep.ts'
import { UnlinkOAuth } from '../application/unlink-oauth.ts'
import { UpdateUser } from '../application/update-user.ts'
import { VerifyUser } from '../application/verify-user.ts'
import { bindClass } from './bind-class.ts'
import * as t from './tokens.ts'

/** Everything the service can do, and what each of it needs: the table of contents of the application. Answers the names. */
export function bindUseCases(container: Container): readonly ServiceIdentifier[] {
  const occasions = { clock: t.Clock, newId: t.NewId }
  const choosing = { hasher: t.Hasher, policy: t.Policy }
  const redeeming = { users: t.Users, changeUser: ChangeUser, tokens: t.Tokens, secrets: t.Secrets }
  const delivering = {
    users: t.Users,
    tokens: t.Tokens,
    subscribers: t.Subscribers,
    tenant: t.Tenant,
    clock: t.Clock,
    random: t.Random,
    handlerTimeoutSeconds: t.HandlerTimeoutSeconds,
    leaseSeconds: t.LeaseSeconds,
    report: t.Report,
  }
  const returning = { oauthStates: t.OAuthStates, secrets: t.Secrets, clock: t.Clock }

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
      subscribers: t.Subscribers,
    }),
    bindClass(container, StartOAuth, { ...returning, newToken: t.NewToken }),
    bindClass(container, FinishOAuth, {
      ...occasions,
      ...returning,
      users: t.Users,
      changeUser: ChangeUser,
      subscribers: t.Subscribers,
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
    bindClass(container, RequestToken, { ...occasions, tokenRequests: t.TokenRequests, secrets: t.Secrets }),
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
      subscribers: t.Subscribers,
      tenant: t.Tenant,
    }),
    bindClass(container, RelayEvents, { ...delivering, outbox: t.Outbox, sessions: t.Sessions }),
    bindClass(container, DeliverTokens, {
      ...delivering,
      tokenRequests: t.TokenRequests,
      secrets: t.Secrets,
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
