import type { Router } from '../../adapters/http/endpoint.ts'
import { registerRouter } from '../../adapters/http/routers/register.ts'
import { resetPasswordRouter } from '../../adapters/http/routers/reset-password.ts'
import { usersRouter } from '../../adapters/http/routers/users.ts'
import { verifyRouter } from '../../adapters/http/routers/verify.ts'

export interface RouterPlugin {
  /** Its key in the settings. */
  readonly name: string
  readonly description: string
  /** Where it is mounted unless the settings say otherwise. */
  readonly prefix: string
  /** Takes `prefix`, `backends` and any use cases by their names in `config/composition/container.ts`. */
  build(needs: never): Router
}

/** Every router that exists once. The settings mount an auth router for each backend, and two for each provider. */
export const routers = [
  { name: 'register', description: 'Registration', prefix: '/auth', build: registerRouter },
  { name: 'resetPassword', description: 'Forgotten passwords', prefix: '/auth', build: resetPasswordRouter },
  { name: 'verify', description: 'Verification of e-mail addresses', prefix: '/auth', build: verifyRouter },
  { name: 'users', description: 'Reading, changing and deleting users', prefix: '/users', build: usersRouter },
] as const satisfies readonly RouterPlugin[]

/** The operations of a router, as `METHOD /path` below its prefix. */
export function operationsOf({ build }: Pick<RouterPlugin, 'build'>): readonly string[] {
  // Safe: endpoints are read and none of their handlers runs, so no use case is missed.
  const { endpoints } = build({ prefix: '', backends: [] } as never)
  return endpoints.map(({ method, path }) => `${method} ${path}`)
}

/** Operations of the auth router, below the prefix of its backend. */
export const backendOperations = ['POST /login', 'POST /logout'] as const

/** Operations of the two routers that every provider has. */
export const providerOperations = ['GET /authorize', 'GET /callback', 'POST /callback']
export const associateOperations = [...providerOperations, 'DELETE /:id']

/** Operations outside all routers. No router may have their paths. */
export const serviceOperations = ['GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /docs', 'GET /try']
