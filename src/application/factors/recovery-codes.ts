import { type RecoveryCodes, recoveryBinding } from '../../domain/factors.ts'
import type { UserId } from '../../domain/ids.ts'
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
