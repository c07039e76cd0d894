import Type from 'typebox'
import type { AnyChanges } from '../../application/accounts/account-changes.ts'
import type { ChangeAccount } from '../../application/accounts/change-account.ts'
import type { ChangeOwnAccount } from '../../application/accounts/change-own-account.ts'
import type { CreateSuperuser } from '../../application/accounts/create-superuser.ts'
import type { DeleteUser } from '../../application/accounts/delete-user.ts'
import type { ExportUser } from '../../application/accounts/export-user.ts'
import type { PromoteUser } from '../../application/accounts/promote-user.ts'
import type { ReadUser } from '../../application/accounts/read-user.ts'
import type { RegisterUser } from '../../application/accounts/register-user.ts'
import type { RequestFacts } from '../../application/event-metadata.ts'
import { factorMethods } from '../../application/factors/challenges.ts'
import type { FinishLogin } from '../../application/factors/finish-login.ts'
import type { ReadProviderToken } from '../../application/oauth/read-provider-token.ts'
import type { UnlinkOAuth } from '../../application/oauth/unlink-oauth.ts'
import type { RejectAccount } from '../../application/one-time-tokens/reject-account.ts'
import type { RequestToken } from '../../application/one-time-tokens/request-token.ts'
import type { ResetPassword } from '../../application/one-time-tokens/reset-password.ts'
import type { VerifyUser } from '../../application/one-time-tokens/verify-user.ts'
import type { Authenticate } from '../../application/sign-in/authenticate.ts'
import type { EndSession } from '../../application/sign-in/end-session.ts'
import type { ListSessions } from '../../application/sign-in/list-sessions.ts'
import type { LogIn } from '../../application/sign-in/log-in.ts'
import type { LogOut } from '../../application/sign-in/log-out.ts'
import type { LogOutEverywhere } from '../../application/sign-in/log-out-everywhere.ts'
import type { Actor } from '../../domain/actor.ts'
import { isEmail } from '../../domain/email.ts'
import { isUserId } from '../../domain/ids.ts'
import { InvalidInput } from '../../domain/refusal.ts'
import {
  allChecked,
  type Checks,
  checked,
  type Execute,
  membersOf,
  objectOf,
  request,
  requireActorAndTarget,
  requireAuthenticated,
  requiring,
  withoutNull,
} from './checked.ts'
import { passkeyAnswer } from './routers/passkey-answer.ts'
import { optional, RegisterBody, ResetPasswordBody, text, UpdateUserBody, VerifyBody } from './schemas.ts'

/** The use cases that programs call. */
export interface CheckedAccounts {
  readonly registerUser: Execute<RegisterUser>
  readonly createSuperuser: Execute<CreateSuperuser>
  readonly promoteUser: Execute<PromoteUser>
  readonly logIn: Execute<LogIn>
  readonly finishLogin: Execute<FinishLogin>
  readonly logOut: Execute<LogOut>
  readonly logOutEverywhere: Execute<LogOutEverywhere>
  readonly listSessions: Execute<ListSessions>
  readonly endSession: Execute<EndSession>
  readonly authenticate: Execute<Authenticate>
  readonly requestToken: Execute<RequestToken>
  readonly resetPassword: Execute<ResetPassword>
  readonly verifyUser: Execute<VerifyUser>
  readonly rejectAccount: Execute<RejectAccount>
  readonly readUser: Execute<ReadUser>
  readonly exportUser: Execute<ExportUser>
  readonly changeAccount: Execute<ChangeAccount>
  readonly changeOwnAccount: Execute<ChangeOwnAccount>
  readonly deleteUser: Execute<DeleteUser>
  readonly unlinkOAuth: Execute<UnlinkOAuth>
  readonly readProviderToken: Execute<ReadProviderToken>
}

const { email, password } = RegisterBody.properties
const browser = optional.text('A secret of the browser')
const flag = Type.Optional(Type.Boolean())
const registration = { email, password, fields: objectOf({}), ...request }
const proof = Type.Object({
  method: Type.Enum([...factorMethods]),
  code: optional.text('Of the second factor'),
  response: Type.Optional(passkeyAnswer),
})
const token = { ...VerifyBody.properties, ...request }
const { until: _, ...changes } = membersOf(UpdateUserBody)
const requireUpdate = requiring({ ...changes, fields: objectOf({}), ...request })

/** The program is the actor, also if it passes on a body that names another one. */
const byProgram = <I>(input: I): I & { by: Actor } => ({ ...input, by: { type: 'program' } })

/** The checks of the routes, by the same schemas. */
const checks: Checks<CheckedAccounts> = {
  registerUser: checked(registration, undefined, byProgram),
  createSuperuser: checked(registration, undefined, byProgram),
  promoteUser: checked({ email, ...request }, undefined, byProgram),
  logIn: checked({ password, browser, asksFactor: flag, ...request }, requireBackend, (input) => ({
    ...input,
    email: isEmail(input.email) ? input.email : null,
    name: typeof input.name === 'string' ? input.name : null,
  })),
  finishLogin: checked(
    { challenge: text('Of the login'), proof, browser, trustsBrowser: flag, ...request },
    requireBackend,
  ),
  logOut: checked({}, requireAuthenticated),
  logOutEverywhere: checked(request, requireActorAndTarget),
  listSessions: checked({}, requireActorAndTarget),
  endSession: checked({ id: text('Of the session') }, requireActorAndTarget),
  authenticate: (useCase) => ({
    execute: (candidates) => useCase.execute(candidates.filter(({ value }) => typeof value === 'string')),
  }),
  requestToken: checked({ email, purpose: Type.Enum(['reset_password', 'verify_email']), ...request }),
  resetPassword: checked({ ...ResetPasswordBody.properties, ...request }),
  verifyUser: checked(token, ({ by = null }) => {
    if (by !== null) requireAuthenticated(by)
  }),
  rejectAccount: checked(token),
  readUser: (useCase) => ({
    execute: async (id) => (['string', 'number'].includes(typeof id) ? await useCase.execute(id) : null),
  }),
  exportUser: checked({}, requireActorAndTarget),
  changeAccount: checkedChange(requireActorAndTarget),
  changeOwnAccount: checkedChange(({ by }) => requireAuthenticated(by)),
  deleteUser: checked(request, requireActorAndTarget),
  unlinkOAuth: checked(request, ({ by }) => requireAuthenticated(by)),
  readProviderToken: (useCase) => ({
    execute: async (input) => (isUserId(input.userId) ? await useCase.execute(input) : null),
  }),
}

/** Programs in JavaScript may pass on any value of a request, and a database could take an object for a query. */
export const checkedAccounts = (useCases: CheckedAccounts): CheckedAccounts => allChecked(checks, useCases)

interface Update extends RequestFacts {
  readonly changes: AnyChanges
  readonly currentPassword?: string | undefined
}

/** `changes` field by field, because the object of a program may hold anything. */
export function checkedChange<I extends Update, R>(requireRights: (input: NoInfer<I>) => void) {
  const names = ['email', 'password', 'isActive', 'until', 'reason', 'isSuperuser', 'isVerified', 'fields'] as const
  return (useCase: { execute(input: I): Promise<R> }) => ({
    async execute(input: I): Promise<R> {
      requireRights(input)
      const { changes } = input
      requireUpdate({ ...input, ...changes })
      if (changes.until != null && !(changes.until instanceof Date)) throw new InvalidInput('until', 'must be a Date')
      const given = Object.fromEntries(names.map((name) => [name, changes[name] ?? undefined]))
      return await useCase.execute(withoutNull({ ...input, changes: given }))
    },
  })
}

function requireBackend({ backend }: { readonly backend: unknown }): void {
  // Safe: each field is checked.
  const { credentials } = (backend ?? {}) as { readonly credentials?: { readonly issue?: unknown } }
  if (typeof credentials?.issue !== 'function')
    throw new InvalidInput('backend', 'must be a value of accounts.backends')
}
