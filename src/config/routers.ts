import type { Container } from 'inversify'
import type { HttpBackend } from '../adapters/http/access.ts'
import type { Router } from '../adapters/http/endpoint.ts'
import { authRouter } from '../adapters/http/routers/auth.ts'
import { registerRouter } from '../adapters/http/routers/register.ts'
import { resetPasswordRouter } from '../adapters/http/routers/reset-password.ts'
import { usersRouter } from '../adapters/http/routers/users.ts'
import { verifyRouter } from '../adapters/http/routers/verify.ts'
import { DeleteUser } from '../application/delete-user.ts'
import { LogIn } from '../application/log-in.ts'
import { LogOut } from '../application/log-out.ts'
import { ReadUser } from '../application/read-user.ts'
import { RegisterUser } from '../application/register-user.ts'
import { RequestToken } from '../application/request-token.ts'
import { ResetPassword } from '../application/reset-password.ts'
import { UpdateUser } from '../application/update-user.ts'
import { VerifyUser } from '../application/verify-user.ts'
import type { RouterName, Settings } from './settings.ts'

interface Mounting {
  readonly container: Container
  readonly prefix: string
  readonly backends: readonly HttpBackend[]
}

/** Every router that there is once; the Auth router is there once for each backend. */
const routers: Record<RouterName, (mounting: Mounting) => Router> = {
  register: ({ container, prefix, backends }) =>
    registerRouter({
      registerUser: container.get(RegisterUser),
      hasAmbientBackend: backends.some(({ transport }) => transport.isAmbient),
      prefix,
    }),
  resetPassword: ({ container, prefix }) =>
    resetPasswordRouter({
      requestToken: container.get(RequestToken),
      resetPassword: container.get(ResetPassword),
      prefix,
    }),
  verify: ({ container, prefix }) =>
    verifyRouter({ requestToken: container.get(RequestToken), verifyUser: container.get(VerifyUser), prefix }),
  users: ({ container, prefix }) =>
    usersRouter({
      readUser: container.get(ReadUser),
      updateUser: container.get(UpdateUser),
      deleteUser: container.get(DeleteUser),
      prefix,
    }),
}

/** The routers that the settings enable, at their prefixes. */
export function routersOf(settings: Settings, container: Container, backends: readonly HttpBackend[]): Router[] {
  const auth = backends.map((backend) => {
    const prefix = settings.backends[backend.name]?.prefix ?? `/auth/${backend.name}`
    return authRouter({ logIn: container.get(LogIn), logOut: container.get(LogOut), backend, prefix })
  })
  // Safe: `routers` has exactly these keys.
  const names = Object.keys(routers) as RouterName[]
  const others = names
    .filter((name) => settings.routers[name].enabled)
    .map((name) => routers[name]({ container, backends, prefix: settings.routers[name].prefix }))
  return [...auth, ...others]
}
