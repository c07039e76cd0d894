import { endOf, hasSecrets, usualEnd, usualEndInWords } from '../../adapters/credentials/former-options.ts'
import { type FormerLogins, formerLinks } from '../../adapters/credentials/former-tokens.ts'
import { objectionToHash } from '../../adapters/crypto/hash-schemes.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { FormerLinks } from '../../application/ports/former-links.ts'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import { formerStart, noteFormerStart } from '../../application/sign-in/former-start.ts'
import type { Settings } from '../settings/schema/schema.ts'

type Marked = Pick<UsersRole, 'tenantTexts'>

/** The time at which logins and links of fastapi-users end. Without `compat.until`, the store of the users tells it. */
export function formerEndOf({ compat }: Pick<Settings, 'compat'>) {
  let end = compat.until === undefined ? null : endOf(compat.until)
  return {
    /** `null`: before `prepare`, or if there are none. */
    at: (): Date | null => end,

    /** Stores the first day at the first start with one of the secrets. Later starts and other processes keep it. */
    async prepare(users: Marked, now: Date): Promise<void> {
      if (compat.until !== undefined) return
      if (hasSecrets(compat)) await noteFormerStart(users.tenantTexts, now)
      end = await storedEnd(users)
    },
  }
}

/** The end by the first day in the store, which remains when the secrets are removed; `null` if no start had one. */
async function storedEnd({ tenantTexts }: Marked): Promise<Date | null> {
  const day = await formerStart(tenantTexts)
  return day === null ? null : usualEnd(day)
}

/**
 * A sentence for operators about an end that no setting names; `null` if there is none.
 *
 * @param users `null`: no start has made them
 */
export async function formerEndInWords({ compat }: Pick<Settings, 'compat'>, users: Marked | null, now: Date) {
  return usualEndInWords(compat, users && (await storedEnd(users)), now)
}

interface Needs {
  readonly hasher: PasswordHasher
  readonly clock: () => Date
  readonly metrics: Metrics | null
  readonly until: () => Date | null
}

export interface Former {
  /** The time at which they end. */
  readonly formerUntil: () => Date | null
  readonly formerLinks: FormerLinks
  readonly formerLogins?: FormerLogins
}

/** The logins and links of fastapi-users that go on for a time. */
export function formerOf({ compat }: Settings, { hasher, clock, metrics, until }: Needs): Former {
  const { jwtSecret: secret, jwtAudiences: audiences, resetSecret = null, verificationSecret = null } = compat
  const used = (kind: 'jwt' | 'reset' | 'verification') => metrics?.formerUsed(kind)
  const secrets = { resetSecret, verificationSecret, hasher, hashObjection: objectionToHash }
  const links = formerLinks({ ...secrets, until, clock, used })
  const common = { formerUntil: until, formerLinks: links }
  if (secret === undefined) return common
  return { ...common, formerLogins: { secret, audiences, until, clock, used: () => used('jwt') } }
}
