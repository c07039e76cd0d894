import type { DeleteUser } from '../../../application/accounts/delete-user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import type { DeviceCookie } from '../transports/device-cookie.ts'
import { type HttpBackend, transportOf } from '../transports/http-backend.ts'

interface Use {
  deleteUser: DeleteUser
  backends: readonly HttpBackend[]
  deviceCookie: DeviceCookie
}

/** Users delete their own account. */
export const ownDeletionRouter: Router<Use> = {
  tag: 'users',
  endpoints: [
    endpoint(routes.ownDeletion.deleteMe, {
      operationId: 'users:delete_current_user',
      summary: 'Delete the own account, its sessions and tokens',
      replies: { 204: { description: 'Deleted; our cookies are removed', body: null } },
      refusals: ['DELETE_USER_REFUSED', 'LAST_SUPERUSER', 'FRESH_LOGIN_REQUIRED', 'SECOND_FACTOR_REQUIRED'],
      async handle({ by, request }, { deleteUser, backends, deviceCookie }: Use) {
        await deleteUser.execute({ by, target: by.user, ...request })
        const { cookies = [] } = transportOf(by, backends)?.clear() ?? {}
        return { status: 204, cookies: [...cookies, deviceCookie.removal(by.user.email, request.caller.device)] }
      },
    }),
  ],
}
