import { endOf } from '../../adapters/credentials/former-options.ts'
import { type FormerLogins, formerLinks } from '../../adapters/credentials/former-tokens.ts'
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
  readonly formerLinks?: FormerLinks
  readonly formerLogins?: FormerLogins
}

/** The logins and links of fastapi-users that go on until `compat.until`. */
export function formerOf({ compat }: Settings, { hasher, clock, metrics }: Needs): Former {
  const until = compat.until === undefined ? null : endOf(compat.until)
  if (until === null) return {}
  const { jwtSecret: secret, jwtAudiences: audiences, resetSecret = null, verificationSecret = null } = compat
  const used = (kind: 'jwt' | 'reset' | 'verification') => metrics?.formerUsed(kind)
  const links = formerLinks({ resetSecret, verificationSecret, hasher, until, clock, used })
  if (secret === undefined) return { formerLinks: links }
  return { formerLinks: links, formerLogins: { secret, audiences, until, clock, used: () => used('jwt') } }
}
