import type { Actor } from '../../domain/actor.ts'
import { updatedEvent } from '../../domain/events.ts'
import { codesRefusedUntil, type Factors, recoveryBinding, totpBinding } from '../../domain/factors.ts'
import { jsonId, type UserId } from '../../domain/ids.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { Change, ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import type { FactorCodes } from '../ports/factor-codes.ts'
import type { KeyRing } from '../ports/key-ring.ts'

export interface UseFactorNeeds extends MetadataNeeds {
  changeUser: ChangeUser
  keyRing: KeyRing
  factorCodes: FactorCodes
  /** Called for a right code that is refused because the clock was ahead. Must not throw. */
  warnOfClock: (refused: RefusedByClock) => void
}

export interface RefusedByClock {
  readonly userId: string | number
  readonly requestId: string
  /** When the clock has caught up. */
  readonly until: Date
}

interface Use extends RequestFacts {
  readonly method: 'totp' | 'recovery_code'
  readonly code: string
  readonly by: (user: User) => Actor
  /** Whether the record still counts. It may have changed since it was read. */
  readonly isValid: (user: User) => boolean
}

/**
 * Uses a code up: the same write remembers its time step, or forgets the recovery code. So one of any number of concurrent callers
 * succeeds (RFC 6238 section 5.2, ASVS 5.0 section 6.5.1). Returns the user as written, or `null` for a wrong or used code.
 */
export async function useFactor(needs: UseFactorNeeds, id: UserId, use: Use): Promise<User | null> {
  let isRight = false
  const outcome = await needs.changeUser.execute(id, async (fresh): Promise<Change> => {
    const factors = use.isValid(fresh) ? await withoutCode(needs, fresh, use) : null
    isRight = factors !== null
    if (factors === null) return { type: 'keep' }
    const user = { ...fresh, factors }
    if (use.method === 'totp') return { type: 'replace', user, events: [] }
    const recoveryCodeUsed = factors.recovery?.digests.length ?? 0
    const event = updatedEvent(user, { recoveryCodeUsed }, eventMetadata(needs, use, use.by(user)))
    return { type: 'replace', user, events: [event] }
  })
  return isRight && outcome.type === 'changed' ? outcome.user : null
}

/** The factors after the use of the code; `null` if it is wrong or used. */
async function withoutCode(needs: UseFactorNeeds, { id, factors }: User, use: Use): Promise<Factors | null> {
  const { keyRing, factorCodes, clock } = needs
  const { totp, recovery } = factors
  if (use.method === 'totp') {
    if (totp === null) return null
    const secret = opened(keyRing.unsealFactor(totp.sealedSecret, totpBinding(id)))
    const step = await factorCodes.totpStep(secret, use.code, clock())
    if (step === null) return null
    if (step > totp.lastStep) return { ...factors, totp: { ...totp, lastStep: step } }
    const until = codesRefusedUntil(totp, clock())
    if (until !== null) needs.warnOfClock({ userId: jsonId(id), requestId: use.requestId, until })
    return null
  }
  if (recovery === null) return null
  const key = opened(keyRing.unsealFactor(recovery.sealedKey, recoveryBinding(id)))
  const digest = factorCodes.recoveryDigest(key, use.code)
  if (!recovery.digests.includes(digest)) return null
  return { ...factors, recovery: { ...recovery, digests: recovery.digests.filter((one) => one !== digest) } }
}

/** Fails if no present secret has sealed the value. To ignore the factor would let the user in without it. */
function opened(value: string | null): string {
  if (value === null) throw new Unavailable('a second factor was sealed with a secret that is missing in formerSecrets')
  return value
}
