import { type Factors, hasFactor, type RecoveryCodes, recoveryBinding } from '../../domain/factors.ts'
import type { UserId } from '../../domain/ids.ts'
import { endSessions, type User } from '../../domain/user.ts'
import type { FactorCodes } from '../ports/factor-codes.ts'
import type { KeyRing } from '../ports/key-ring.ts'

interface Needs {
  keyRing: Pick<KeyRing, 'sealFactor'>
  factorCodes: FactorCodes
}

/** A new set of recovery codes: the codes for the user, and their digests for the record. */
export function newRecoveryCodes({ keyRing, factorCodes }: Needs, id: UserId) {
  const { key, codes } = factorCodes.newRecoveryCodes()
  const digests = codes.map((code) => factorCodes.recoveryDigest(key, code))
  const stored: RecoveryCodes = { sealedKey: keyRing.sealFactor(key, recoveryBinding(id)), digests }
  return { codes, stored }
}

interface FirstFactor {
  readonly recovery: RecoveryCodes
  readonly now: Date
}

/**
 * `fresh` with one more factor, which ends a reset: whoever adds it has shown the present ones. The first factor brings recovery
 * codes, and ends all credentials. The login that adds it gets a new one (`addedFactor`).
 */
export function withFactor(fresh: User, added: Partial<Factors>, { recovery, now }: FirstFactor) {
  const isFirst = !hasFactor(fresh)
  const first = { recovery, ...(!fresh.isVerified && { isUnverified: true as const }) }
  const factors: Factors = { ...fresh.factors, ...added, resetAt: null, ...(isFirst && first) }
  return { isFirst, user: { ...(isFirst ? endSessions(fresh, now) : fresh), factors } }
}
