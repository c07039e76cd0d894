import type { CreateUser, NewAccount } from '../../application/administration/create-user.ts'
import type { InviteUser } from '../../application/administration/invite-user.ts'
import {
  checked,
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
}

const { email, password, invite } = CreateUserBody.properties
const client = optional.text('The address of the client')
const checks = {
  createUser: checkOf<CreateUser>({ email, password, invite, ...flags, fields, client, ...request }, requireActor),
  inviteUser: checkOf<InviteUser>(request, requireActorAndTarget),
}

/** The use cases with the input checks of the routes, as `checkedAccounts`. */
export function checkedAdmin(useCases: CheckedAdmin): CheckedAdmin {
  const createUser = checked(useCases.createUser, checks.createUser)
  return {
    createUser: { execute: (input) => createUser.execute(givenOf(input)) },
    inviteUser: checked(useCases.inviteUser, checks.inviteUser),
  }
}

/** As on the routes, `null` means that a member is not given. */
function givenOf(input: NewAccount): NewAccount {
  return { ...input, ...Object.fromEntries(Object.entries(input).map(([name, value]) => [name, value ?? undefined])) }
}
