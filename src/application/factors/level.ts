import { hasFactor } from '../../domain/factors.ts'
import type { User } from '../../domain/user.ts'

/** The method of a login with two factors (RFC 8176 section 2). */
export const twoFactors = 'mfa'

/** Whether the user has a second factor, and the login was without it. */
export function lacksFactor(user: Pick<User, 'factors'>, login: { readonly methods: readonly string[] }): boolean {
  return hasFactor(user) && levelOf(login) < 2
}

/** How well a login was proved: 2 by two factors, otherwise 1. */
export function levelOf({ methods }: { readonly methods: readonly string[] }): 1 | 2 {
  return methods.includes(twoFactors) ? 2 : 1
}
