/** The method of a login with two factors (RFC 8176 section 2). */
export const twoFactors = 'mfa'

/** How well a login was proved: 2 by two factors, otherwise 1. */
export function levelOf({ methods }: { readonly methods: readonly string[] }): 1 | 2 {
  return methods.includes(twoFactors) ? 2 : 1
}
