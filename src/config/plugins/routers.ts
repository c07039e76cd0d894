import type { Router } from '../../adapters/http/endpoint.ts'
import { factorsRouter } from '../../adapters/http/routers/factors.ts'
import { registerRouter } from '../../adapters/http/routers/register.ts'
import { resetPasswordRouter } from '../../adapters/http/routers/reset-password.ts'
import { usersRouter } from '../../adapters/http/routers/users.ts'
import { verifyRouter } from '../../adapters/http/routers/verify.ts'

interface RouterPlugin {
  /** Its key in the settings. */
  readonly name: string
  readonly description: string
  /** The default prefix. */
  readonly prefix: string
  /** Absent if it is on by default. Otherwise the settings or the profile turn it on. */
  readonly isOff?: { readonly hardened: { readonly value: boolean; readonly because: string } }
  /** Its handlers get `backends`, `deviceCookie` and all use cases by their names in `config/composition/container.ts`. */
  readonly router: Router
}

/** Routers that exist once. Each backend adds an auth router, and each provider adds two. */
export const routers = [
  { name: 'register', description: 'Registration', prefix: '/auth', router: registerRouter },
  { name: 'resetPassword', description: 'Password reset', prefix: '/auth', router: resetPasswordRouter },
  { name: 'verify', description: 'Verification of e-mail addresses', prefix: '/auth', router: verifyRouter },
  { name: 'users', description: 'Reading, changing and deleting users', prefix: '/users', router: usersRouter },
  {
    name: 'factors',
    description: 'Second factors of the own account',
    prefix: '/users',
    isOff: { hardened: { value: true, because: 'Superusers need it (`security.secondFactor`).' } },
    router: factorsRouter,
  },
] as const satisfies readonly RouterPlugin[]
