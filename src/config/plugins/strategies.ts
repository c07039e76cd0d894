import { type FormerLogins, withFormerLogins } from '../../adapters/credentials/former-tokens.ts'
import { jwtCredentials } from '../../adapters/credentials/jwt.ts'
import { jwtOptions, storedOptions } from '../../adapters/credentials/options.ts'
import { usualAlgorithm } from '../../adapters/credentials/signing/options.ts'
import type { SigningKeys } from '../../adapters/credentials/signing/signing-keys.ts'
import { storedCredentials } from '../../adapters/credentials/stored.ts'
import { type DerivedKeys, newToken } from '../../adapters/crypto/derived-keys.ts'
import type { ExpiringMarks } from '../../application/ports/stores/expiring-marks.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import { part } from './plugin.ts'

export interface StrategyNeeds {
  readonly sessions: SessionStore
  readonly expiringMarks: ExpiringMarks
  readonly keyRing: DerivedKeys
  readonly tenant: string
  readonly clock: () => Date
  readonly newId: () => string
  readonly claimFields: readonly string[]
  readonly signingKeys: SigningKeys
  readonly security: Parameters<typeof usualAlgorithm>[0]['security']
  /** The public URL of the tenant. */
  readonly issuer: string
  /** The name of the backend. */
  readonly backend: string
  /** JWTs of another system that go on. */
  readonly formerLogins?: FormerLogins | undefined
}

const jwt = part({
  kind: 'jwt',
  options: jwtOptions,
  build(options, { keyRing, formerLogins, signingKeys: keys, issuer, backend: client, ...needs }: StrategyNeeds) {
    const { algorithm = usualAlgorithm(needs) } = options
    const signing = { keys, algorithm, issuer, client }
    const own = jwtCredentials({
      ...options,
      ...needs,
      key: keyRing.jwtKey,
      formerKeys: keyRing.former.jwtKeys,
      signing,
    })
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
