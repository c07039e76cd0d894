import { hasFactor, levelOf, twoFactors } from '../../domain/factors.ts'
import type { User } from '../../domain/user.ts'

/** Whether the user has a second factor, and the login was without it. */
export function lacksFactor(user: Pick<User, 'factors'>, login: { readonly methods: readonly string[] }): boolean {
  return hasFactor(user) && levelOf(login) < 2
}

/**
 * How a login was proved. The login that added the first factor has shown it, too. The record says so, because a JWT cannot change,
 * and a stored session could end while it is written.
 */
export function provedMethods(
  { factors }: Pick<User, 'factors'>,
  { sid, methods }: { readonly sid: string; readonly methods: readonly string[] },
): readonly string[] {
  return factors.enrolledSid === sid && !methods.includes(twoFactors) ? [...methods, twoFactors] : methods
}
