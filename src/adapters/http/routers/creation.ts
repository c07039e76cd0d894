import type { CreateUser } from '../../../application/administration/create-user.ts'
import type { InviteUser } from '../../../application/administration/invite-user.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { CreateUserBody, UserSchema, userBody } from '../schemas.ts'
import { type SessionUse, target } from './sessions.ts'

export interface CreationUse extends Pick<SessionUse, 'readUser'> {
  createUser: CreateUser
  inviteUser: InviteUser
}

/** New users, whom superusers create and invite. */
export const creationEndpoints: readonly Endpoint<CreationUse>[] = [
  endpoint(routes.users.create, {
    operationId: 'users:create_user',
    summary: 'Create an account, with a password or an invitation',
    body: CreateUserBody,
    ownFields: 'creation',
    replies: { 201: { description: 'Created', body: UserSchema } },
    refusals: ['REGISTER_USER_ALREADY_EXISTS', 'REGISTER_INVALID_PASSWORD', 'FRESH_LOGIN_REQUIRED'],
    async handle({ by, body, fields, request }, { createUser }: CreationUse) {
      const { email, password, invite, is_active: isActive, is_superuser: isSuperuser, is_verified: isVerified } = body
      const flags = { isActive, isSuperuser, isVerified }
      const created = await createUser.execute({
        by,
        email,
        password,
        invite,
        ...flags,
        fields,
        ...request,
      })
      return { status: 201, body: userBody(created, by.user) }
    },
  }),
  endpoint(routes.users.invite, {
    operationId: 'users:invite_user',
    summary: 'Mail a user without a password the link to choose one, again or for the first time',
    target,
    replies: { 204: { description: 'The message will be sent', body: null } },
    refusals: ['INVITE_USER_REFUSED', 'FRESH_LOGIN_REQUIRED'],
    async handle({ by, target, request }, { inviteUser }: CreationUse) {
      await inviteUser.execute({ by, target, ...request })
      return { status: 204 }
    },
  }),
]
