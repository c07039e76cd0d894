import { endOf } from '../../adapters/credentials/former-options.ts'
import { type FormerLogins, formerLinks } from '../../adapters/credentials/former-tokens.ts'
import { objectionToHash } from '../../adapters/crypto/hash-schemes.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import type { FormerLinks } from '../../application/ports/former-links.ts'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import type { Settings } from '../settings/schema/schema.ts'

interface Needs {
  readonly hasher: PasswordHasher
  readonly clock: () => Date
  readonly metrics: Metrics | null
}

export interface Former {
  /** The time at which they end. */
  readonly formerUntil?: Date
  readonly formerLinks?: FormerLinks
  readonly formerLogins?: FormerLogins
}

/** The logins and links of fastapi-users that go on until `compat.until`. */
export function formerOf({ compat }: Settings, { hasher, clock, metrics }: Needs): Former {
  const until = compat.until === undefined ? null : endOf(compat.until)
  if (until === null) return {}
  const { jwtSecret: secret, jwtAudiences: audiences, resetSecret = null, verificationSecret = null } = compat
  const used = (kind: 'jwt' | 'reset' | 'verification') => metrics?.formerUsed(kind)
  const secrets = { resetSecret, verificationSecret, hasher, hashObjection: objectionToHash }
  const links = formerLinks({ ...secrets, until, clock, used })
  const common = { formerUntil: until, formerLinks: links }
  if (secret === undefined) return common
  return { ...common, formerLogins: { secret, audiences, until, clock, used: () => used('jwt') } }
}
