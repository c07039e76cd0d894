import Type, { type TProperties } from 'typebox'
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
import type { Caller } from '../../application/limits/limits.ts'
import type { ReadProviderToken } from '../../application/oauth/read-provider-token.ts'
import type { UnlinkOAuth } from '../../application/oauth/unlink-oauth.ts'
import type { RejectAccount } from '../../application/one-time-tokens/reject-account.ts'
import type { RequestToken } from '../../application/one-time-tokens/request-token.ts'
import type { ResetPassword } from '../../application/one-time-tokens/reset-password.ts'
import type { VerifyUser } from '../../application/one-time-tokens/verify-user.ts'
import type { Authenticate, By } from '../../application/sign-in/authenticate.ts'
import type { EndSession } from '../../application/sign-in/end-session.ts'
import type { ListSessions } from '../../application/sign-in/list-sessions.ts'
import type { LogIn } from '../../application/sign-in/log-in.ts'
import type { LogOut } from '../../application/sign-in/log-out.ts'
import type { LogOutEverywhere } from '../../application/sign-in/log-out-everywhere.ts'
import type { Actor } from '../../domain/actor.ts'
import { isEmail } from '../../domain/email.ts'
import { isUserId } from '../../domain/ids.ts'
import { InvalidInput, Refusal } from '../../domain/refusal.ts'
import { type ClientTraits, unknownTraits } from '../../domain/session.ts'
import type { User } from '../../domain/user.ts'
import { objectionsBy } from './pipeline/validate.ts'
import { passkeyAnswer } from './routers/passkey-answer.ts'
import {
  EmailBody,
  LoginForm,
  optional,
  RegisterBody,
  ResetPasswordBody,
  text,
  UpdateUserBody,
  VerifyBody,
} from './schemas.ts'

/** The methods of a use case. */
export type Execute<UseCase> = Pick<UseCase, keyof UseCase>

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
const client = optional.text('The address of the client')
const device = optional.text('The device token')
const browser = optional.text('A secret of the browser')
const trait = optional.text('A trait of the browser')
const fieldsOf = (properties: TProperties) => Type.Optional(Type.Unsafe({ type: ['object', 'null'], properties })) // `null`: not given
const caller = fieldsOf({ client, device })
const traits = fieldsOf({ network: trait, browser: trait, system: trait })
export const request = {
  requestId: text('Of the request'),
  languages: Type.Optional(Type.Array(Type.String())),
  caller,
  traits,
}
export const fields = fieldsOf({})
const purpose = Type.Enum(['reset_password', 'verify_email'])
const { is_active, is_superuser, is_verified, current_password, until: _, ...changes } = UpdateUserBody.properties
const challenge = text('Of the login')
const proof = Type.Object({
  method: Type.Enum([...factorMethods]),
  code: optional.text('Of the second factor'),
  response: Type.Optional(passkeyAnswer),
})
const flag = Type.Optional(Type.Boolean())
export const flags = { isActive: is_active, isSuperuser: is_superuser, isVerified: is_verified }
const requireUpdate = requiring({ ...changes, ...flags, fields, currentPassword: current_password, ...request })

/** The checks of inputs. All tenants share them, because compiling one takes milliseconds and memory. */
const checks = {
  registerUser: checkOf<RegisterUser>({ email, password, fields, ...request }),
  createSuperuser: checkOf<CreateSuperuser>({ email, password, fields, ...request }),
  promoteUser: checkOf<PromoteUser>({ ...EmailBody.properties, ...request }),
  logIn: checkOf<LogIn>(
    { password: LoginForm.properties.password, browser, asksFactor: flag, ...request },
    requireBackend,
  ),
  finishLogin: checkOf<FinishLogin>({ challenge, proof, browser, trustsBrowser: flag, ...request }, requireBackend),
  requestToken: checkOf<RequestToken>({ ...EmailBody.properties, purpose, ...request }),
  resetPassword: checkOf<ResetPassword>({ ...ResetPasswordBody.properties, ...request }),
  rejectAccount: checkOf<RejectAccount>({ ...VerifyBody.properties, ...request }),
  verifyUser: checkOf<VerifyUser>({ ...VerifyBody.properties, ...request }, ({ by = null }) => {
    if (by !== null) requireAuthenticated(by)
  }),
  unlinkOAuth: checkOf<UnlinkOAuth>(request, ({ by }) => requireAuthenticated(by)),
  logOutEverywhere: checkOf<LogOutEverywhere>(request, requireActorAndTarget),
  endSession: checkOf<EndSession>({ id: text('Of the session') }, requireActorAndTarget),
  deleteUser: checkOf<DeleteUser>(request, requireActorAndTarget),
}

/**
 * The use cases with the input checks of the routes, by the same schemas. Programs in JavaScript may pass on any value of a
 * request, and a database could take an object for a query.
 */
export function checkedAccounts(useCases: CheckedAccounts): CheckedAccounts {
  const { authenticate, readProviderToken, readUser, changeAccount, changeOwnAccount } = useCases
  const logIn = checked(useCases.logIn, checks.logIn)
  return {
    registerUser: checked(byProgram(useCases.registerUser), checks.registerUser),
    createSuperuser: checked(byProgram(useCases.createSuperuser), checks.createSuperuser),
    promoteUser: checked(byProgram(useCases.promoteUser), checks.promoteUser),
    requestToken: checked(useCases.requestToken, checks.requestToken),
    resetPassword: checked(useCases.resetPassword, checks.resetPassword),
    rejectAccount: checked(useCases.rejectAccount, checks.rejectAccount),
    verifyUser: checked(useCases.verifyUser, checks.verifyUser),
    unlinkOAuth: checked(useCases.unlinkOAuth, checks.unlinkOAuth),
    logOut: checked(useCases.logOut, requireAuthenticated),
    logOutEverywhere: checked(useCases.logOutEverywhere, checks.logOutEverywhere),
    listSessions: checked(useCases.listSessions, requireActorAndTarget),
    exportUser: checked(useCases.exportUser, requireActorAndTarget),
    endSession: checked(useCases.endSession, checks.endSession),
    deleteUser: checked(useCases.deleteUser, checks.deleteUser),
    logIn: {
      execute: (input) =>
        logIn.execute({
          ...input,
          email: isEmail(input.email) ? input.email : null,
          name: typeof input.name === 'string' ? input.name : null,
        }),
    },
    finishLogin: checked(useCases.finishLogin, checks.finishLogin),
    authenticate: {
      execute: (candidates) => authenticate.execute(candidates.filter(({ value }) => typeof value === 'string')),
    },
    readUser: {
      execute: async (id) => (['string', 'number'].includes(typeof id) ? await readUser.execute(id) : null),
    },
    changeOwnAccount: {
      async execute(input) {
        requireAuthenticated(input.by)
        return await changeOwnAccount.execute(givenOf(input))
      },
    },
    changeAccount: checkedChange(changeAccount),
    readProviderToken: {
      execute: async (input) => (isUserId(input.userId) ? await readProviderToken.execute(input) : null),
    },
  }
}

export function checkedChange(changeAccount: Execute<ChangeAccount>): Execute<ChangeAccount> {
  return {
    async execute(input) {
      requireActorAndTarget(input)
      return await changeAccount.execute(givenOf(input))
    },
  }
}

type InputOf<UseCase extends { execute(input: never): unknown }> = Parameters<UseCase['execute']>[0]

/** Checks the rights of an input, and then its fields. */
export function checkOf<UseCase extends { execute(input: never): unknown }>(
  fields: { readonly [Field in keyof InputOf<UseCase>]?: TProperties[string] },
  requireRights: (input: InputOf<UseCase>) => void = () => undefined,
): (input: InputOf<UseCase>) => void {
  const requireFields = requiring(fields as TProperties) // safe: each value is a schema
  return (input) => {
    requireRights(input)
    requireFields(input)
  }
}

export function checked<I, R>(useCase: { execute(input: I): Promise<R> }, check: (input: NoInfer<I>) => void) {
  return {
    async execute(input: I): Promise<R> {
      check(input)
      return await useCase.execute(withFacts(input))
    },
  }
}

/** As on the routes, `null` means that a fact is not given. */
function withFacts<I>(input: I): I {
  const { caller, traits } = input as Partial<RequestFacts> // safe: each member is checked
  return {
    ...input,
    ...(caller !== undefined && { caller: caller === null ? undefined : callerOf(caller) }),
    ...(traits !== undefined && { traits: traitsOf(traits) }),
  }
}

/** The program is the actor, also if it passes on a body that names another one. */
function byProgram<I, R>(useCase: { execute(input: I & { by?: Actor }): Promise<R> }) {
  return { execute: (input: I) => useCase.execute({ ...input, by: { type: 'program' } }) }
}

function requiring(fields: TProperties): (input: object) => void {
  const objectionTo = objectionsBy(Type.Object(fields))
  return (input: { readonly email?: unknown }) => {
    const objection = objectionTo(input)
    if (objection !== null) throw new InvalidInput(objection.field, objection.problem)
    if ('email' in fields && input.email != null && !isEmail(input.email)) {
      throw new InvalidInput('email', 'must be an address as parseEmail returns it')
    }
  }
}

function callerOf({ client, device }: Caller): Caller {
  return { client: client ?? null, device: device ?? null }
}

function traitsOf(given: ClientTraits | undefined): ClientTraits {
  const { network = null, browser = null, system = null } = given ?? unknownTraits
  return { network, browser, system }
}

interface Update extends RequestFacts {
  readonly changes: AnyChanges
  readonly currentPassword?: string | undefined
}

/** As on the routes, `null` means that a field is not given. */
function givenOf<Input extends Update>(input: Input): Input {
  const { changes, currentPassword } = input
  requireUpdate({ ...input, ...changes })
  if (changes.until != null && !(changes.until instanceof Date)) throw new InvalidInput('until', 'must be a Date')
  const names = ['email', 'password', 'isActive', 'until', 'reason', 'isSuperuser', 'isVerified', 'fields'] as const
  const given = Object.fromEntries(names.map((name) => [name, changes[name] ?? undefined]))
  return withFacts({ ...input, changes: given, currentPassword: currentPassword ?? undefined })
}

/** Checks that the credential belongs to the acting user. `Authenticate` returns `null` if there is no credential. */
function requireAuthenticated(value: unknown): void {
  const { user, credential } = (value ?? {}) as { user?: Given; credential?: Given } // safe: each field is checked
  const isTheirs = isUserId(user?.id) && credential?.userId === user.id
  if (!isTheirs || typeof credential.id !== 'string' || !(credential.expiresAt instanceof Date)) {
    throw new Refusal('UNAUTHORIZED')
  }
}

type Given = { readonly id?: unknown; readonly userId?: unknown; readonly expiresAt?: unknown }

function requireBackend({ backend }: { readonly backend: unknown }): void {
  // Safe: each field is checked.
  const { credentials } = (backend ?? {}) as { readonly credentials?: { readonly issue?: unknown } }
  if (typeof credentials?.issue !== 'function')
    throw new InvalidInput('backend', 'must be a value of accounts.backends')
}

export function requireActor({ by }: { by: By }): void {
  if (by?.type === undefined) requireAuthenticated(by)
}

/** Checks who acts, and on which user. Only superusers may learn whether there is such a user. */
export function requireActorAndTarget({ by, target }: { by: By; target?: User }): void {
  requireActor({ by })
  if (isUserId(target?.id)) return
  throw new Refusal(by.type !== undefined || by.user.isSuperuser ? 'NOT_FOUND' : 'FORBIDDEN')
}
