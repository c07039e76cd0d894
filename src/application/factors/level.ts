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

/** The method of a login without the second factor in a browser that the user trusts. Its level is 1. */
export const trustedBrowser = 'trusted_browser'

/** Whether a login has to ask for the second factor first. */
export function mustAskFactor(user: Pick<User, 'factors'>, login: { readonly methods: readonly string[] }): boolean {
  return lacksFactor(user, login) && !login.methods.includes(trustedBrowser)
}
