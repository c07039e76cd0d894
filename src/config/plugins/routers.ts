import type { Container } from 'inversify'
import type { Router } from '../../adapters/http/endpoint.ts'
import { registerRouter } from '../../adapters/http/routers/register.ts'
import { resetPasswordRouter } from '../../adapters/http/routers/reset-password.ts'
import { usersRouter } from '../../adapters/http/routers/users.ts'
import { verifyRouter } from '../../adapters/http/routers/verify.ts'
import type { HttpBackend } from '../../adapters/http/transports/http-backend.ts'
import { DeleteUser } from '../../application/accounts/delete-user.ts'
import { ReadUser } from '../../application/accounts/read-user.ts'
import { RegisterUser } from '../../application/accounts/register-user.ts'
import { RequestToken } from '../../application/accounts/request-token.ts'
import { ResetPassword } from '../../application/accounts/reset-password.ts'
import { UpdateUser } from '../../application/accounts/update-user.ts'
import { VerifyUser } from '../../application/accounts/verify-user.ts'

interface Mounting {
  readonly container: Container
  readonly prefix: string
  readonly backends: readonly HttpBackend[]
}

export interface RouterPart {
  /** Its key in the settings. */
  readonly name: string
  readonly description: string
  /** Where it is mounted unless the settings say otherwise. */
  readonly prefix: string
  /** `METHOD /path` below the prefix: settings that put two routers on one path are refused before anything opens. */
  readonly operations: readonly string[]
  build(mounting: Mounting): Router
}

/** Every router that there is once; the Auth router is there once for each backend. */
export const routers = [
  {
    name: 'register',
    description: 'Registration',
    prefix: '/auth',
    operations: ['POST /register'],
    build: ({ container, prefix, backends }) =>
      registerRouter({
        registerUser: container.get(RegisterUser),
        hasAmbientBackend: backends.some(({ transport }) => transport.isAmbient),
        prefix,
      }),
  },
  {
    name: 'resetPassword',
    description: 'Forgotten passwords',
    prefix: '/auth',
    operations: ['POST /forgot-password', 'POST /reset-password'],
    build: ({ container, prefix }) =>
      resetPasswordRouter({
        requestToken: container.get(RequestToken),
        resetPassword: container.get(ResetPassword),
        prefix,
      }),
  },
  {
    name: 'verify',
    description: 'Verification of e-mail addresses',
    prefix: '/auth',
    operations: ['POST /request-verify-token', 'POST /verify'],
    build: ({ container, prefix }) =>
      verifyRouter({ requestToken: container.get(RequestToken), verifyUser: container.get(VerifyUser), prefix }),
  },
  {
    name: 'users',
    description: 'Reading, changing and deleting users',
    prefix: '/users',
    operations: ['GET /me', 'PATCH /me', 'GET /me/oauth-accounts', 'GET /:id', 'PATCH /:id', 'DELETE /:id'],
    build: ({ container, prefix }) =>
      usersRouter({
        readUser: container.get(ReadUser),
        updateUser: container.get(UpdateUser),
        deleteUser: container.get(DeleteUser),
        prefix,
      }),
  },
] as const satisfies readonly RouterPart[]

/** Operations of the Auth router, below the prefix of its backend. */
export const backendOperations = ['POST /login', 'POST /logout'] as const

/** Operations of the two routers that every provider has. */
export const providerOperations = ['GET /authorize', 'GET /callback', 'POST /callback']
export const associateOperations = [...providerOperations, 'DELETE /:id']

/** Operations outside all routers. No router may have their paths. */
export const serviceOperations = ['GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /docs', 'GET /try']
