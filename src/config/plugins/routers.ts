import { docsRouter } from '../../adapters/http/docs/docs-page.ts'
import type { Router } from '../../adapters/http/endpoint.ts'
import { mailboxRouter } from '../../adapters/http/pages/mailbox-page.ts'
import { tryRouter } from '../../adapters/http/pages/try-page.ts'
import { authRouter } from '../../adapters/http/routers/auth.ts'
import { oauthRouter } from '../../adapters/http/routers/oauth.ts'
import { oauthAssociateRouter } from '../../adapters/http/routers/oauth-associate.ts'
import { operationsRouter } from '../../adapters/http/routers/operations.ts'
import { registerRouter } from '../../adapters/http/routers/register.ts'
import { resetPasswordRouter } from '../../adapters/http/routers/reset-password.ts'
import { usersRouter } from '../../adapters/http/routers/users.ts'
import { verifyRouter } from '../../adapters/http/routers/verify.ts'
import { bearerTransport } from '../../adapters/http/transports/bearer.ts'

interface RouterPlugin {
  /** Its key in the settings. */
  readonly name: string
  readonly description: string
  /** The default prefix. */
  readonly prefix: string
  /** Takes `prefix`, `backends`, `deviceCookie` and any use cases by their names in `config/composition/container.ts`. */
  build(needs: never): Router
}

/** Routers that exist once. Each backend adds an auth router, and each provider adds two. */
export const routers = [
  { name: 'register', description: 'Registration', prefix: '/auth', build: registerRouter },
  { name: 'resetPassword', description: 'Password reset', prefix: '/auth', build: resetPasswordRouter },
  { name: 'verify', description: 'Verification of e-mail addresses', prefix: '/auth', build: verifyRouter },
  { name: 'users', description: 'Reading, changing and deleting users', prefix: '/users', build: usersRouter },
] as const satisfies readonly RouterPlugin[]

/** The operations of a router, as `METHOD /path` below its prefix. */
export function operationsOf({ build }: Pick<RouterPlugin, 'build'>): readonly string[] {
  const { endpoints } = build(described as never)
  return endpoints.map(({ method, path }) => `${method} ${path}`)
}

/** The needs of routers to describe their operations. No handler runs, so the use cases are missing. */
const described = {
  prefix: '',
  backend: { name: 'any', transport: bearerTransport },
  backends: [],
  mounted: { provider: { name: 'any' }, redirects: {}, postsCallback: true },
}

/** The operations of a backend. */
export const backendOperations = operationsOf({ build: authRouter })

/** The operations of a provider, in its two routers. */
export const providerOperations = operationsOf({ build: oauthRouter })
export const associateOperations = operationsOf({ build: oauthAssociateRouter })

/** The operations of the service itself. No router may use their paths. */
export const serviceOperations = [
  () => operationsRouter(async () => []),
  () => docsRouter(null),
  () => tryRouter(described as never),
  () => mailboxRouter(described as never),
].flatMap((build) => operationsOf({ build }))
