import { Refusal } from '../../domain/refusal.ts'
import type { LevelNeeds } from '../factors/level.ts'
import type { Authenticated } from './authenticate.ts'

export interface FreshLoginNeeds extends LevelNeeds {
  /** The greatest age of a fresh login; `null` for no limit. */
  readonly freshLoginSeconds: number | null
  readonly clock: () => Date
  /** Whether superusers have the console. By default they have not. */
  readonly hasConsole?: boolean
}

/**
 * Acts that give lasting access need a recent login. Otherwise a stolen session, which ends, could become lasting access
 * for the thief (ASVS 5.0 sections 7.5.1 and 7.5.3).
 */
export function requireFreshLogin({ freshLoginSeconds, clock }: FreshLoginNeeds, { credential }: Authenticated): void {
  if (freshLoginSeconds === null) return
  const age = clock().getTime() - credential.provedAt.getTime()
  const isFresh = age <= freshLoginSeconds * 1000 // `NaN`, the age of an invalid date, is not
  if (!isFresh) throw new Refusal('FRESH_LOGIN_REQUIRED')
}

const recentLoginSeconds = 900

/** As `requireFreshLogin`. Where the settings do not say when a login is fresh, it must be recent. */
export function requireRecentLogin({ freshLoginSeconds, clock }: FreshLoginNeeds, by: Authenticated): void {
  requireFreshLogin({ freshLoginSeconds: freshLoginSeconds ?? recentLoginSeconds, clock }, by)
}
