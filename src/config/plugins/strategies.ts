import Type from 'typebox'
import { jwtCredentials } from '../../adapters/credentials/jwt.ts'
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
}

/** Browsers keep a cookie for at most 400 days (RFC 6265bis section 5.5). */
export const maxLifetimeSeconds = 400 * 86_400

const lifetime = (seconds: number, description: string, hardened?: { value: number; because: string }) =>
  Type.Integer({
    minimum: 1,
    maximum: maxLifetimeSeconds,
    default: seconds,
    ...(hardened && { hardened }),
    description,
  })

const jwt = part({
  kind: 'jwt',
  options: {
    audience: Type.String({
      minLength: 1,
      maxLength: 256,
      default: 'portcullis:auth',
      expects: 'a text of 1 to 256 characters',
      description: 'The claim `aud` of new tokens. The service refuses tokens with another one.',
    }),
    lifetimeSeconds: lifetime(3600, 'Lifetime of a token.'),
  },
  build: (options, { expiringIds, keyRing, tenant, clock, newId }: StrategyNeeds) =>
    jwtCredentials({ ...options, expiringIds, key: keyRing.jwtKey, tenant, clock, newId }),
})

const stored = part({
  kind: 'stored',
  options: {
    lifetimeSeconds: lifetime(30 * 86_400, 'Longest lifetime of a session.', {
      value: 86_400,
      because: 'The overall time-out of AAL2 (NIST SP 800-63B-4 section 2.2.3; ASVS 5.0 section 7.3.2).',
    }),
    idleSeconds: lifetime(
      86_400,
      'A session without a request for this time ends. It never lives longer than `lifetimeSeconds`.',
      {
        value: 3600,
        because: 'The inactivity time-out of AAL2 (NIST SP 800-63B-4 section 2.2.3; ASVS 5.0 section 7.3.1).',
      },
    ),
  },
  build: (options, { sessions, keyRing, clock }: StrategyNeeds) =>
    storedCredentials({ ...options, sessions, digest: keyRing.digest, newToken, clock }),
})

/** Every kind of credential. */
export const strategies = [jwt, stored] as const
