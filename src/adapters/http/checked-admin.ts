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
  allChecked,
  type Checks,
  checked,
  type Execute,
  membersOf,
  objectOf,
  request,
  requireActor,
  requireActorAndTarget,
} from './checked.ts'
import { checkedChange } from './checked-accounts.ts'
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

/** The checks of the routes, as those of `checkedAccounts`. */
const checks: Checks<CheckedAdmin> = {
  createUser: checked({ ...membersOf(CreateUserBody), fields: objectOf({}), ...request }, requireActor),
  inviteUser: checked(request, requireActorAndTarget),
  searchUsers: checked(ofSearch, (input) => {
    requireActor(input)
    requireTimes(input)
  }),
  changeAccount: checkedChange(requireActorAndTarget),
  explainLogin: checked({ email: CreateUserBody.properties.email, ...request }, requireActor),
  readDetails: checked(request, requireActorAndTarget),
  resetFactors: checked(request, requireActorAndTarget),
  keepFactors: checked(request, requireActorAndTarget),
}

export const checkedAdmin = (useCases: CheckedAdmin): CheckedAdmin => allChecked(checks, useCases)

function requireTimes({ createdAfter, createdBefore, lastLoginBefore }: UserSearch): void {
  for (const [name, value] of Object.entries({ createdAfter, createdBefore, lastLoginBefore })) {
    const isTime = value instanceof Date && !Number.isNaN(value.getTime())
    if (value != null && !isTime) throw new InvalidInput(name, 'must be a Date')
  }
}
