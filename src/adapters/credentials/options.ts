import Type from 'typebox'
import { algorithmOption } from './signing/options.ts'

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

/** The settings of `jwtCredentials`. */
export const jwtOptions = {
  audience: Type.String({
    minLength: 1,
    maxLength: 256,
    default: 'portcullis:auth',
    expects: 'a text of 1 to 256 characters',
    description: 'The claim `aud` of new tokens. The service refuses tokens with another one.',
  }),
  lifetimeSeconds: lifetime(3600, 'Lifetime of a token.'),
  algorithm: algorithmOption,
}

/** The settings of `storedCredentials`. */
export const storedOptions = {
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
}
