import type { ChangeAccount } from '../../../application/accounts/change-account.ts'
import type { ChangeOwnAccount } from '../../../application/accounts/change-own-account.ts'
import type { DeleteUser } from '../../../application/accounts/delete-user.ts'
import { requireLevel } from '../../../application/factors/level.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { AccountsSchema, accountBody, UpdateMeBody, UpdateUserBody, UserSchema, userBody } from '../schemas.ts'
import { type CreationUse, creationEndpoints } from './creation.ts'
import { type SessionUse, sessionEndpoints, target } from './sessions.ts'

export interface Use extends SessionUse, CreationUse {
  changeAccount: ChangeAccount
  changeOwnAccount: ChangeOwnAccount
  deleteUser: DeleteUser
}

const user = { 200: { description: 'The user', body: UserSchema } }
const changing = [
  'UPDATE_USER_INVALID_PASSWORD',
  'UPDATE_USER_EMAIL_ALREADY_EXISTS',
  'UPDATE_USER_BAD_CURRENT_PASSWORD',
  'FRESH_LOGIN_REQUIRED',
] as const
export const usersRouter: Router<Use> = {
  tag: 'users',
  endpoints: [
    endpoint(routes.users.readMe, {
      operationId: 'users:current_user',
      summary: 'Read the own account',
      query: [{ name: 'level', description: '`2`: refuse a login that was not proved by two factors' }],
      replies: user,
      refusals: ['SECOND_FACTOR_REQUIRED'],
      async handle({ by, query }) {
        if (query.getAll('level').some((level) => level !== '1')) requireLevel({}, by, 2)
        return { status: 200, body: userBody(by.user, by.user) }
      },
    }),
    endpoint(routes.users.changeMe, {
      operationId: 'users:patch_current_user',
      summary: 'Change the own account',
      body: UpdateMeBody,
      ownFields: 'ownChange',
      replies: user,
      refusals: [...changing, 'SECOND_FACTOR_REQUIRED'],
      async handle({ by, body, fields, request }, { changeOwnAccount }: Use) {
        const { email, password, current_password: currentPassword } = body
        const changes = { email, password, fields }
        const updated = await changeOwnAccount.execute({ by, changes, currentPassword, ...request })
        return { status: 200, body: userBody(updated, by.user) }
      },
    }),
    endpoint(routes.users.listMyAccounts, {
      operationId: 'users:oauth_accounts',
      summary: 'List the accounts at providers that log the user in, without their tokens',
      replies: { 200: { description: 'The accounts', body: AccountsSchema } },
      async handle({ by }) {
        return { status: 200, body: by.user.oauthAccounts.map(accountBody) }
      },
    }),
    ...sessionEndpoints,
    ...creationEndpoints,
    endpoint(routes.users.read, {
      operationId: 'users:user',
      summary: 'Read an account',
      target,
      replies: user,
      async handle({ by, target, request }, { lookUpUser }: Use) {
        await lookUpUser.execute({ by, target, ...request })
        return { status: 200, body: userBody(target, by.user) }
      },
    }),
    endpoint(routes.users.change, {
      operationId: 'users:patch_user',
      summary: 'Change an account',
      target,
      body: UpdateUserBody,
      ownFields: 'anyChange',
      replies: user,
      refusals: [...changing, 'LAST_SUPERUSER'],
      async handle({ by, target, body, fields, request }, { changeAccount }: Use) {
        const changes = {
          email: body.email,
          password: body.password,
          isActive: body.is_active,
          until: body.until === undefined ? undefined : new Date(body.until),
          reason: body.reason,
          isSuperuser: body.is_superuser,
          isVerified: body.is_verified,
          fields,
        }
        const { current_password: currentPassword } = body
        const updated = await changeAccount.execute({ by, target, changes, currentPassword, ...request })
        return { status: 200, body: userBody(updated, by.user) }
      },
    }),
    endpoint(routes.users.delete, {
      operationId: 'users:delete_user',
      summary: 'Delete an account, its sessions and tokens',
      target,
      replies: { 204: { description: 'Deleted', body: null } },
      refusals: ['DELETE_USER_REFUSED', 'LAST_SUPERUSER', 'FRESH_LOGIN_REQUIRED'],
      async handle({ by, target, request }, { deleteUser }: Use) {
        await deleteUser.execute({ by, target, ...request })
        return { status: 204 }
      },
    }),
  ],
}
