import { Refusal } from '../domain/refusal.ts'
import type { User } from '../domain/user.ts'
import { lacksFactor, requireLevel } from './factors/level.ts'
import type { Authenticated, By } from './sign-in/authenticate.ts'
import { type FreshLoginNeeds, requireFreshLogin, requireRecentLogin } from './sign-in/fresh-login.ts'

type Demand = 'superuser' | 'fresh' | 'recent' | 'second_factor'

/** The demands of each act on a login, for its own account and for another one. `null`: no login may do it. */
const demands = {
  list_sessions: { own: [], other: ['superuser'] },
  /** With any login, because it shows little more than the routes for the own account. */
  export_account: { own: [], other: null },
  /** The own ones with any login, because that only ends access. */
  end_sessions: { own: [], other: ['superuser', 'fresh'] },
  /** A new password or address, a link to a provider. */
  change_access: { own: ['second_factor', 'fresh'], other: null },
  /** With the present factor, so that a stolen password or session can neither add one nor remove it. */
  change_factors: { own: ['second_factor', 'recent'], other: null },
  /** The factors of another user who has lost them, after a delay. With the own ones, users remove them at once. */
  reset_factors: { own: null, other: ['superuser', 'fresh'] },
  /** With the present factor, because a session from before it may be that of the attacker. */
  keep_factors: { own: ['second_factor'], other: ['superuser'] },
  /** Also an invitation, which is for a user without a password. */
  create_account: { own: null, other: ['superuser', 'fresh'] },
  search_accounts: { own: null, other: ['superuser'] },
  change_account: { own: ['superuser', 'second_factor', 'fresh'], other: ['superuser', 'fresh'] },
  /** Nothing brings the own account back, so its deletion always needs a login of a short time ago. */
  delete_account: { own: ['second_factor', 'recent'], other: ['superuser', 'fresh'] },
} as const satisfies Record<
  string,
  { readonly own: readonly Demand[] | null; readonly other: readonly Demand[] | null }
>

/** The acts on the own account for which a login needs no second factor, even if the settings demand one. */
const beforeFactor: ReadonlySet<string> = new Set(['list_sessions', 'end_sessions', 'change_factors'])

export type Act = keyof typeof demands

export const acts = Object.keys(demands) as readonly Act[] // safe: these are the keys

/**
 * Refuses an act on an account by an actor who has no right to it. A program or command decides by itself.
 *
 * @param target `null` for a new account, and for an act that concerns no single one
 * @param options.isConfirmed the request also has the password of the login, which then need not be fresh
 */
export function requireRight(
  needs: FreshLoginNeeds,
  by: By,
  act: Act,
  target: Pick<User, 'id' | 'factors'> | null,
  { isConfirmed = false }: { readonly isConfirmed?: boolean } = {},
): void {
  if (by.type === 'program' || by.type === 'command') return
  if (by.type !== undefined) throw new Refusal('UNAUTHORIZED')
  const isOwn = by.user.id === target?.id
  const demanded: readonly Demand[] | null = demands[act][isOwn ? 'own' : 'other']
  if (demanded === null) throw new Refusal('FORBIDDEN')
  if (demanded.includes('superuser') && !by.user.isSuperuser) throw new Refusal('FORBIDDEN')
  if (!isOwn || !beforeFactor.has(act)) requireLevel(needs, by)
  if (demanded.includes('second_factor') && target !== null && lacksFactor(target, by.credential)) {
    throw new Refusal('SECOND_FACTOR_REQUIRED')
  }
  if (isConfirmed) return
  if (!demanded.includes('fresh') && !demanded.includes('recent')) return
  // With the cookie of a superuser, a thief could use the console, so it must not become a password or a link.
  const isRecent = demanded.includes('recent') || (needs.hasConsole === true && isBrowserOfSuperuser(by))
  if (isRecent) requireRecentLogin(needs, by)
  else requireFreshLogin(needs, by)
}

/** Whether a browser sends the credential by itself, and it is that of a superuser. */
export function isBrowserOfSuperuser({ user, backend }: Authenticated): boolean {
  return user.isSuperuser && backend.isForBrowsers === true
}

/**
 * Refuses an act that concerns no single user, such as a look at refused logins, to everybody but superusers. A program or command
 * decides by itself.
 *
 * @param isChange it needs a fresh login, if the settings say when one is fresh
 */
export function requireSuperuser(needs: FreshLoginNeeds, by: By, { isChange }: { readonly isChange: boolean }): void {
  if (by.type === 'program' || by.type === 'command') return
  if (by.type !== undefined) throw new Refusal('UNAUTHORIZED')
  if (!by.user.isSuperuser) throw new Refusal('FORBIDDEN')
  requireLevel(needs, by)
  if (isChange) requireFreshLogin(needs, by)
}
