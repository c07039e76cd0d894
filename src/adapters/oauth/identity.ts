import { domainToUnicode } from 'node:url'
import { CodeRefused, ProviderFailed } from '../../application/ports/oauth-provider.ts'
import { parseEmail } from '../../domain/email.ts'
import type { OAuthIdentity, ProviderTokens } from '../../domain/oauth-account.ts'

/** What a provider said, unjudged. */
export interface Claims {
  readonly accountId: unknown
  readonly email: unknown
  /** Whether the provider vouches that the address is the user's. Nothing but `true` is a yes. */
  readonly emailVerified: unknown
}

const maxAccountIdLength = 255 // OpenID Connect Core section 2: `sub`
const maxTokenLength = 16_384

/** @param hasIntegerIds for providers that document a number as the account's name */
export function identityOf(claims: Claims, tokens: ProviderTokens, hasIntegerIds: boolean): OAuthIdentity {
  const isText = typeof claims.email === 'string' && !isMangled(claims.email)
  const parsed = isText ? parseEmail(claims.email, domainToUnicode) : null
  const email = parsed !== null && 'email' in parsed ? parsed.email : null
  return {
    accountId: accountIdOf(claims.accountId, hasIntegerIds),
    email,
    isEmailVerified: email !== null && claims.emailVerified === true,
    tokens,
  }
}

function accountIdOf(value: unknown, hasIntegerIds: boolean): string {
  // Past 2^53 JSON.parse rounds, and two accounts would become one.
  if (hasIntegerIds && Number.isSafeInteger(value)) return String(value)
  if (typeof value === 'number' && !hasIntegerIds)
    throw new ProviderFailed('the account is named by a number (integerAccountId)')
  if (typeof value !== 'string' || value.trim() === '' || value.length > maxAccountIdLength) {
    throw new ProviderFailed('the account has no usable name')
  }
  if (/\p{Cc}/u.test(value) || isMangled(value)) throw new ProviderFailed('the account has no usable name')
  return value
}

/**
 * Half a surrogate pair, or what a decoder puts in the place of bytes that are no UTF-8: they all look alike, and two
 * accounts would become one.
 */
function isMangled(value: string): boolean {
  return /[\p{Cs}\ufffd]/u.test(value)
}

/** `path` such as `kakao_account.email`; `undefined` where there is nothing. */
export function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((found, name) => {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    return (found as Record<string, unknown>)[name] // safe: it has this very property
  }, value)
}

/**
 * Whether a token endpoint that answers so does not want the code, or the refresh token. One that wants to be asked
 * later (RFC 9110 section 15.5.9, RFC 8470, RFC 6585 section 4) says nothing about either.
 */
export function refuses(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429
}

/** RFC 6749 section 5.2, and GitHub's "Troubleshooting OAuth app access token request errors". */
const knownErrors: ReadonlySet<unknown> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
  'bad_verification_code',
])

const aboutWhatWeBring: ReadonlySet<unknown> = new Set(['invalid_request', 'invalid_grant', 'bad_verification_code'])

/** Says why as far as it is a word that we know: any other may be the code itself, or its user's address. */
export function refusalOf(status: number, answer: unknown): CodeRefused {
  const error = valueAt(answer, 'error')
  const why = knownErrors.has(error) ? `${error}, ` : ''
  const isAboutUs = error !== undefined && !aboutWhatWeBring.has(error) && knownErrors.has(error)
  return new CodeRefused(`the token endpoint refuses (${why}status ${status})`, { isAboutUs })
}

/**
 * An answer of a token endpoint that is not an error by its status (RFC 6749 section 5.1). GitHub, Reddit and Naver
 * send the errors of section 5.2 with status 200.
 */
export function tokensOf(answer: unknown, now: Date): ProviderTokens {
  if (typeof valueAt(answer, 'error') === 'string') throw refusalOf(200, answer)

  const accessToken = valueAt(answer, 'access_token')
  if (!isToken(accessToken)) throw new ProviderFailed('there is no access token')
  const type = valueAt(answer, 'token_type')
  // RFC 6749 section 7.1: a token of a kind that we do not know is not used.
  if (type !== undefined && (typeof type !== 'string' || type.toLowerCase() !== 'bearer')) {
    throw new ProviderFailed('the access token is no bearer token')
  }
  const refreshToken = valueAt(answer, 'refresh_token')
  return {
    accessToken,
    refreshToken: isToken(refreshToken) ? refreshToken : null,
    expiresAt: expiryOf(valueAt(answer, 'expires_in'), now),
  }
}

/** RFC 6749 appendices A.12 and A.17: printable ASCII. No length is given there; what we keep has one. */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxTokenLength && /^[ -~]+$/.test(value)
}

/** Naver sends the number as text. What is no number of seconds says nothing. */
function expiryOf(expiresIn: unknown, now: Date): Date | null {
  const seconds = typeof expiresIn === 'string' && /^\d{1,12}$/.test(expiresIn) ? Number(expiresIn) : expiresIn
  if (typeof seconds !== 'number' || !(seconds > 0 && seconds < 1e12)) return null
  return new Date(now.getTime() + Math.floor(seconds) * 1000)
}
