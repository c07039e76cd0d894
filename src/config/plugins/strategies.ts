import { type FormerLogins, withFormerLogins } from '../../adapters/credentials/former-tokens.ts'
import { jwtCredentials } from '../../adapters/credentials/jwt.ts'
import { jwtOptions, storedOptions } from '../../adapters/credentials/options.ts'
import { storedCredentials } from '../../adapters/credentials/stored.ts'
import { type DerivedKeys, newToken } from '../../adapters/crypto/derived-keys.ts'
import type { ExpiringIds } from '../../application/ports/stores/expiring-ids.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import { part } from './plugin.ts'

export interface StrategyNeeds {
  readonly sessions: SessionStore
  readonly expiringIds: ExpiringIds
  readonly keyRing: DerivedKeys
  readonly tenant: string
  readonly clock: () => Date
  readonly newId: () => string
  readonly claimFields: readonly string[]
  /** JWTs of another system that go on. */
  readonly formerLogins?: FormerLogins | undefined
}

const jwt = part({
  kind: 'jwt',
  options: jwtOptions,
  build(options, { keyRing, formerLogins, ...needs }: StrategyNeeds) {
    const own = jwtCredentials({ ...options, ...needs, key: keyRing.jwtKey })
    return formerLogins === undefined ? own : withFormerLogins(own, formerLogins)
  },
})

const stored = part({
  kind: 'stored',
  options: storedOptions,
  build: (options, { sessions, keyRing, clock }: StrategyNeeds) =>
    storedCredentials({ ...options, sessions, digest: keyRing.digest, newToken, clock }),
})

/** Every kind of credential. */
export const strategies = [jwt, stored] as const
