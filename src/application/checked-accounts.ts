import type { Actor } from '../domain/actor.ts'
import { isEmail } from '../domain/email.ts'
import { isUserId } from '../domain/ids.ts'
import { InvalidInput, Refusal } from '../domain/refusal.ts'
import { type ClientTraits, unknownTraits } from '../domain/session.ts'
import type { User } from '../domain/user.ts'
import type { CreateSuperuser } from './accounts/create-superuser.ts'
import type { DeleteUser } from './accounts/delete-user.ts'
import type { PromoteUser } from './accounts/promote-user.ts'
import type { ReadUser } from './accounts/read-user.ts'
import type { RegisterUser } from './accounts/register-user.ts'
import type { AnyChanges, UpdateUser } from './accounts/update-user.ts'
import type { CausingRequest } from './event-metadata.ts'
import { type Caller, unknownCaller } from './limits/limits.ts'
import type { ReadProviderToken } from './oauth/read-provider-token.ts'
import type { UnlinkOAuth } from './oauth/unlink-oauth.ts'
import type { RejectAccount } from './one-time-tokens/reject-account.ts'
import type { RequestToken } from './one-time-tokens/request-token.ts'
import type { ResetPassword } from './one-time-tokens/reset-password.ts'
import type { VerifyUser } from './one-time-tokens/verify-user.ts'
import type { Authenticate, Backend, By } from './sign-in/authenticate.ts'
import type { EndSession } from './sign-in/end-session.ts'
import type { ListSessions } from './sign-in/list-sessions.ts'
import type { LogIn } from './sign-in/log-in.ts'
import type { LogOut } from './sign-in/log-out.ts'
import type { LogOutEverywhere } from './sign-in/log-out-everywhere.ts'

type Execute<UseCase extends { execute: unknown }> = Pick<UseCase, 'execute'>

export interface CheckedAccounts {
  readonly registerUser: Execute<RegisterUser>
  readonly createSuperuser: Execute<CreateSuperuser>
  readonly promoteUser: Execute<PromoteUser>
  readonly logIn: Execute<LogIn>
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
  readonly updateUser: Pick<UpdateUser, 'own' | 'any'>
  readonly deleteUser: Execute<DeleteUser>
  readonly unlinkOAuth: Execute<UnlinkOAuth>
  readonly readProviderToken: Execute<ReadProviderToken>
}

/**
 * The use cases with the input checks of the routes. Programs in JavaScript may pass on any value of a request, and a
 * database could take an object for a query.
 */
export function checkedAccounts(useCases: CheckedAccounts): CheckedAccounts {
  const { authenticate, logIn, readProviderToken, readUser, updateUser } = useCases
  return {
    registerUser: checked(byProgram(useCases.registerUser), ['email', 'password', 'client'], requireRequest),
    createSuperuser: checked(byProgram(useCases.createSuperuser), ['email', 'password'], requireRequest),
    promoteUser: checked(byProgram(useCases.promoteUser), ['email'], requireRequest),
    requestToken: checked(useCases.requestToken, ['purpose', 'email', 'device'], requireRequest),
    resetPassword: checked(useCases.resetPassword, ['token', 'password', 'client'], requireRequest),
    rejectAccount: checked(useCases.rejectAccount, ['token'], requireRequest),
    unlinkOAuth: checked(useCases.unlinkOAuth, ['by'], requireRequest),
    logOut: checked(useCases.logOut, [], requireAuthenticated),
    logOutEverywhere: checked(useCases.logOutEverywhere, [], requireActorAndTarget, requireRequest),
    listSessions: checked(useCases.listSessions, [], requireActorAndTarget),
    endSession: checked(useCases.endSession, ['id'], requireActorAndTarget),
    deleteUser: checked(useCases.deleteUser, [], requireActorAndTarget, requireRequest),
    verifyUser: checked(useCases.verifyUser, ['token'], requireRequest, ({ by = null }) => {
      if (by !== null) requireAuthenticated(by)
    }),
    logIn: checked(
      {
        execute: (input) => {
          const email = isEmail(input.email) ? input.email : null
          const caller = input.caller == null ? undefined : callerOf(input)
          return logIn.execute({ ...input, email, caller, traits: traitsOf(input) })
        },
      },
      ['password', 'backend'],
      requireRequest,
    ),
    authenticate: {
      execute: (candidates) => authenticate.execute(candidates.filter(({ value }) => typeof value === 'string')),
    },
    readUser: {
      execute: async (text) => (typeof text === 'string' ? await readUser.execute(text) : null),
    },
    updateUser: {
      async own(input) {
        checks.by(input.by)
        requireRequest(input)
        return await updateUser.own({ ...input, ...changesOf(input), caller: callerOf(input) })
      },
      async any(input) {
        requireActorAndTarget(input)
        requireRequest(input)
        return await updateUser.any({ ...input, ...changesOf(input), caller: callerOf(input) })
      },
    },
    readProviderToken: {
      execute: async (input) => (isUserId(input.userId) ? await readProviderToken.execute(input) : null),
    },
  }
}

/** The program is the actor, also if it passes on a body that names another one. */
function byProgram<I, R>(useCase: { execute(input: I & { by?: Actor }): Promise<R> }) {
  return { execute: (input: I) => useCase.execute({ ...input, by: { type: 'program' } }) }
}

type Check = (value: unknown) => void

const checks = {
  email: must('email', 'be an address as parseEmail returns it', isEmail),
  password: text('password'),
  token: text('token'),
  currentPassword: text('currentPassword'),
  client: optionalText('client'),
  device: optionalText('device'),
  trait: optionalText('traits'),
  id: text('id'),
  purpose: must('purpose', 'be reset_password or verify_email', (value) =>
    ['reset_password', 'verify_email'].some((purpose) => purpose === value),
  ),
  backend: must('backend', 'be a value of accounts.backends', isBackend),
  by: requireAuthenticated,
} satisfies Readonly<Record<string, Check>>

function checked<I, R>(
  useCase: { execute(input: I): Promise<R> },
  fields: readonly (keyof I & keyof typeof checks)[],
  ...requirements: readonly ((input: NoInfer<I>) => void)[]
): { execute(input: I): Promise<R> } {
  return {
    async execute(input) {
      for (const require of requirements) require(input)
      for (const field of fields) checks[field](input[field])
      return await useCase.execute(input)
    },
  }
}

function must(field: string, problem: string, isRight: (value: unknown) => boolean): Check {
  return (value) => {
    if (!isRight(value)) throw new InvalidInput(field, `must ${problem}`)
  }
}

/** A lone surrogate would be hashed and stored as U+FFFD, so different texts would be equal. */
function text(field: string): Check {
  return must(field, 'be a string of well-formed Unicode', (value) => typeof value === 'string' && value.isWellFormed())
}

function optionalText(field: string): Check {
  const check = text(field)
  return (value) => {
    if (value !== undefined && value !== null) check(value)
  }
}

function callerOf({ caller }: { readonly caller?: Caller | undefined }): Caller {
  const { client, device } = caller ?? unknownCaller
  checks.client(client)
  checks.device(device)
  return { client: client ?? null, device: device ?? null }
}

function traitsOf({ traits }: { readonly traits?: ClientTraits | undefined }): ClientTraits {
  const { network = null, browser = null, system = null } = traits ?? unknownTraits
  for (const trait of [network, browser, system]) checks.trait(trait)
  return { network, browser, system }
}

const checkId = text('requestId')
const checkLanguages = must('languages', 'be a list of strings', (value) => {
  return Array.isArray(value) && value.every((tag) => typeof tag === 'string')
})

function requireRequest({ requestId, languages = [] }: CausingRequest): void {
  checkId(requestId)
  checkLanguages(languages)
}

/** Checks that the credential belongs to the acting user. `Authenticate` returns `null` if there is no credential. */
function requireAuthenticated(value: unknown): void {
  const { user, credential } = (value ?? {}) as { user?: Given; credential?: Given } // safe: each field is checked
  const isTheirs = isUserId(user?.id) && credential?.userId === user.id
  if (!isTheirs || typeof credential.id !== 'string' || !(credential.expiresAt instanceof Date)) {
    throw new Refusal('UNAUTHORIZED')
  }
}

/** Checks who acts, and on which user. Only superusers may learn whether there is such a user. */
function requireActorAndTarget({ by, target }: { by: By; target?: User }): void {
  if (by?.type === undefined) requireAuthenticated(by)
  if (isUserId(target?.id)) return
  throw new Refusal(by.type !== undefined || by.user.isSuperuser ? 'NOT_FOUND' : 'FORBIDDEN')
}

function isBackend(value: unknown): boolean {
  return typeof (value as Partial<Backend> | null | undefined)?.credentials?.issue === 'function' // safe: each field is checked
}

type Given = { readonly id?: unknown; readonly userId?: unknown; readonly expiresAt?: unknown }

/** As on the routes, `null` means that a field is not given. */
function changesOf({ changes, currentPassword }: { changes: AnyChanges; currentPassword?: string | undefined }) {
  const given = { email: changes.email ?? undefined, password: changes.password ?? undefined }
  const checkedPassword = currentPassword ?? undefined
  if (given.email !== undefined) checks.email(given.email)
  if (given.password !== undefined) checks.password(given.password)
  if (checkedPassword !== undefined) checks.currentPassword(checkedPassword)
  return { changes: { ...given, ...flagsOf(changes) }, currentPassword: checkedPassword }
}

function flagsOf(changes: AnyChanges) {
  const flag = (name: 'isActive' | 'isSuperuser' | 'isVerified'): boolean | undefined => {
    const value = changes[name] ?? undefined
    if (value !== undefined && typeof value !== 'boolean') throw new InvalidInput(name, 'must be true or false')
    return value
  }
  return { isActive: flag('isActive'), isSuperuser: flag('isSuperuser'), isVerified: flag('isVerified') }
}
