import Type from 'typebox'
import type { ChangeAccount } from '../../application/accounts/change-account.ts'
import type { CreateUser } from '../../application/administration/create-user.ts'
import type { InviteUser } from '../../application/administration/invite-user.ts'
import type { SearchUsers, UserSearch } from '../../application/administration/search-users.ts'
import type { ExplainLogin } from '../../application/explain/explain-login.ts'
import type { ReadDetails } from '../../application/explain/read-details.ts'
import type { KeepFactors } from '../../application/factors/keep-factors.ts'
import type { ResetFactors } from '../../application/factors/reset-factors.ts'
import { InvalidInput } from '../../domain/refusal.ts'
import {
  checked,
  checkedChange,
  checkOf,
  type Execute,
  fields,
  flags,
  request,
  requireActor,
  requireActorAndTarget,
} from './checked-accounts.ts'
import { CreateUserBody, optional } from './schemas.ts'

/** The use cases of those who manage users. Each takes its actor as `by`. */
export interface CheckedAdmin {
  readonly createUser: Execute<CreateUser>
  readonly inviteUser: Execute<InviteUser>
  readonly searchUsers: Execute<SearchUsers>
  /** As that of `accounts`. */
  readonly changeAccount: Execute<ChangeAccount>
  readonly explainLogin: Execute<ExplainLogin>
  readonly readDetails: Execute<ReadDetails>
  readonly resetFactors: Execute<ResetFactors>
  readonly keepFactors: Execute<KeepFactors>
}

const { email, password, invite } = CreateUserBody.properties
const flag = optional.flag('Whether the users have it')
const ofSearch = {
  text: optional.text('The text'),
  after: optional.text('The cursor'),
  limit: Type.Optional(Type.Unsafe<number | undefined>({ type: ['number', 'null'] })),
  isActive: flag,
  isVerified: flag,
  isSuperuser: flag,
  hasFactor: flag,
  counts: flag,
}
const checks = {
  createUser: checkOf<CreateUser>({ email, password, invite, ...flags, fields, ...request }, requireActor),
  inviteUser: checkOf<InviteUser>(request, requireActorAndTarget),
  explainLogin: checkOf<ExplainLogin>({ email, ...request }, requireActor),
  readDetails: checkOf<ReadDetails>(request, requireActorAndTarget),
  resetFactors: checkOf<ResetFactors>(request, requireActorAndTarget),
  keepFactors: checkOf<KeepFactors>(request, requireActorAndTarget),
  searchUsers: checkOf<SearchUsers>(ofSearch, (input) => {
    requireActor(input)
    requireTimes(input)
  }),
}

/** The use cases with the input checks of the routes, as `checkedAccounts`. */
export function checkedAdmin(useCases: CheckedAdmin): CheckedAdmin {
  const createUser = checked(useCases.createUser, checks.createUser)
  const searchUsers = checked(useCases.searchUsers, checks.searchUsers)
  return {
    createUser: { execute: (input) => createUser.execute(givenOf(input)) },
    inviteUser: checked(useCases.inviteUser, checks.inviteUser),
    explainLogin: checked(useCases.explainLogin, checks.explainLogin),
    readDetails: checked(useCases.readDetails, checks.readDetails),
    resetFactors: checked(useCases.resetFactors, checks.resetFactors),
    keepFactors: checked(useCases.keepFactors, checks.keepFactors),
    searchUsers: { execute: (input) => searchUsers.execute(givenOf(input)) },
    changeAccount: checkedChange(useCases.changeAccount),
  }
}

/** As on the routes, `null` means that a member is not given. */
function givenOf<Input extends object>(input: Input): Input {
  return { ...input, ...Object.fromEntries(Object.entries(input).map(([name, value]) => [name, value ?? undefined])) }
}

function requireTimes({ createdAfter, createdBefore, lastLoginBefore }: UserSearch): void {
  for (const [name, value] of Object.entries({ createdAfter, createdBefore, lastLoginBefore })) {
    const isTime = value instanceof Date && !Number.isNaN(value.getTime())
    if (value != null && !isTime) throw new InvalidInput(name, 'must be a Date')
  }
}
