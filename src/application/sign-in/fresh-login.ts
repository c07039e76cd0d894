import { Refusal } from '../../domain/refusal.ts'
import type { Authenticated } from './authenticate.ts'

export interface FreshLoginNeeds {
  /** In seconds; `null`: a login of any age may do anything. */
  readonly freshLoginSeconds: number | null
  readonly clock: () => Date
}

/**
 * Demands a young login for whatever gives lasting access: a stolen session, which ends, must not become an account of
 * the thief's (ASVS 5.0 sections 7.5.1 and 7.5.3).
 */
export function requireFreshLogin({ freshLoginSeconds, clock }: FreshLoginNeeds, { credential }: Authenticated): void {
  if (freshLoginSeconds === null) return
  const age = clock().getTime() - credential.issuedAt.getTime()
  const isFresh = age <= freshLoginSeconds * 1000 // `NaN`, the age of an invalid date, is not
  if (!isFresh) throw new Refusal('FRESH_LOGIN_REQUIRED')
}
