import { hasFactor, levelOf } from '../../domain/factors.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'

/** Of whom the settings demand two factors. */
export const factorPolicies = ['optional', 'superusers', 'required'] as const
export type FactorPolicy = (typeof factorPolicies)[number]

export interface LevelNeeds {
  /** By default, two factors are demanded of nobody. */
  readonly secondFactor?: FactorPolicy
}

interface Login {
  readonly user: Pick<User, 'isSuperuser'>
  readonly credential: { readonly methods: readonly string[] }
}

/** Whether the user has a second factor, and the login was without it. */
export function lacksFactor(user: Pick<User, 'factors'>, login: { readonly methods: readonly string[] }): boolean {
  return hasFactor(user) && levelOf(login) < 2
}

/** The method of a login without the second factor in a browser that the user trusts. Its level is 1. */
export const trustedBrowser = 'trusted_browser'

/** Whether a login has to ask for the second factor first. */
export function mustAskFactor(user: Pick<User, 'factors'>, login: { readonly methods: readonly string[] }): boolean {
  return lacksFactor(user, login) && !login.methods.includes(trustedBrowser)
}

/** Whether the settings demand two factors of the user, and the login was without them. */
export function isTooWeak({ secondFactor = 'optional' }: LevelNeeds, { user, credential }: Login): boolean {
  const isDemanded = secondFactor === 'required' || (secondFactor === 'superusers' && user.isSuperuser)
  return isDemanded && levelOf(credential) < 2
}

/**
 * Refuses a login that is too weak, or below the level that the caller demands. Every door asks this, except for what a user needs in
 * order to add a factor.
 */
export function requireLevel(needs: LevelNeeds, login: Login, level: 1 | 2 = 1): void {
  if (isTooWeak(needs, login) || levelOf(login.credential) < level) throw new Refusal('SECOND_FACTOR_REQUIRED')
}
