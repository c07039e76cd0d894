import type { DeleteUser } from '../../../application/accounts/delete-user.ts'
import type { ReadUser } from '../../../application/accounts/read-user.ts'
import type { UpdateUser } from '../../../application/accounts/update-user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { AccountsSchema, accountBody, UpdateMeBody, UpdateUserBody, UserSchema, userBody } from '../schemas.ts'
import { type SessionNeeds, sessionEndpoints } from './sessions.ts'

interface Needs extends SessionNeeds {
  readUser: ReadUser
  updateUser: UpdateUser
  deleteUser: DeleteUser
  prefix: string
}

export function usersRouter(needs: Needs): Router {
  const { readUser, updateUser, deleteUser, prefix } = needs
  const target = ({ params }: { params: Readonly<Record<string, string>> }) => readUser.execute(params.user_id ?? '')
  const user = { 200: { description: 'The user', body: UserSchema } }
  const changing = [
    'UPDATE_USER_INVALID_PASSWORD',
    'UPDATE_USER_EMAIL_ALREADY_EXISTS',
    'UPDATE_USER_BAD_CURRENT_PASSWORD',
    'FRESH_LOGIN_REQUIRED',
  ] as const
  return {
    tag: 'users',
    prefix,
    endpoints: [
      endpoint({
        method: 'GET',
        path: '/me',
        operationId: 'users:current_user',
        summary: 'Read the own account',
        access: 'user',
        replies: user,
        async handle({ by }) {
          return { status: 200, body: userBody(by.user) }
        },
      }),
      endpoint({
        method: 'PATCH',
        path: '/me',
        operationId: 'users:patch_current_user',
        summary: 'Change the own account',
        access: 'user',
        limit: 'passwords',
        body: UpdateMeBody,
        replies: user,
        refusals: changing,
        async handle({
          by,
          body: { email, password, current_password: currentPassword },
          requestId,
          languages,
          caller,
        }) {
          const changes = { email, password }
          const updated = await updateUser.own({ by, changes, currentPassword, requestId, languages, caller })
          return { status: 200, body: userBody(updated) }
        },
      }),
      endpoint({
        method: 'GET',
        path: '/me/oauth-accounts',
        operationId: 'users:oauth_accounts',
        summary: 'List the accounts at providers that log the user in, without their tokens',
        access: 'user',
        replies: { 200: { description: 'The accounts', body: AccountsSchema } },
        async handle({ by }) {
          return { status: 200, body: by.user.oauthAccounts.map(accountBody) }
        },
      }),
      ...sessionEndpoints(needs, target),
      endpoint({
        method: 'GET',
        path: '/:user_id',
        operationId: 'users:user',
        summary: 'Read an account',
        access: 'superuser',
        target,
        replies: user,
        async handle({ target }) {
          return { status: 200, body: userBody(target) }
        },
      }),
      endpoint({
        method: 'PATCH',
        path: '/:user_id',
        operationId: 'users:patch_user',
        summary: 'Change an account',
        access: 'superuser',
        target,
        limit: 'passwords',
        body: UpdateUserBody,
        replies: user,
        refusals: changing,
        async handle({ by, target, body, requestId, languages, caller }) {
          const changes = {
            email: body.email,
            password: body.password,
            isActive: body.is_active,
            isSuperuser: body.is_superuser,
            isVerified: body.is_verified,
          }
          const { current_password: currentPassword } = body
          const updated = await updateUser.any({ by, target, changes, currentPassword, requestId, languages, caller })
          return { status: 200, body: userBody(updated) }
        },
      }),
      endpoint({
        method: 'DELETE',
        path: '/:user_id',
        operationId: 'users:delete_user',
        summary: 'Delete an account, its sessions and tokens',
        access: 'superuser',
        target,
        replies: { 204: { description: 'Deleted', body: null } },
        refusals: ['DELETE_USER_REFUSED', 'FRESH_LOGIN_REQUIRED'],
        async handle({ by, target, requestId, languages }) {
          await deleteUser.execute({ by, target, requestId, languages })
          return { status: 204 }
        },
      }),
    ],
  }
}
