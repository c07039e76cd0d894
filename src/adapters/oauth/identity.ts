import { domainToUnicode } from 'node:url'
import { CodeRefused, ProviderFailed } from '../../application/ports/oauth-provider.ts'
import { parseEmail } from '../../domain/email.ts'
import type { OAuthIdentity, ProviderTokens } from '../../domain/oauth-account.ts'

export interface Profile {
  readonly accountId: unknown
  readonly email: unknown
  /** Whether the provider vouches for the address, in one of the spellings of `isTrue`. */
  readonly emailVerified: unknown
}

const maxAccountIdLength = 255 // OpenID Connect Core section 2: `sub`
const maxTokenLength = 16_384

/** @param hasIntegerIds whether the provider documents a number as the account's id */
export function identityOf(claims: Profile, tokens: ProviderTokens, hasIntegerIds: boolean): OAuthIdentity {
  const isText = typeof claims.email === 'string' && !isMangled(claims.email)
  const parsed = isText ? parseEmail(claims.email, domainToUnicode) : null
  const email = parsed !== null && 'email' in parsed ? parsed.email : null
  return {
    accountId: accountIdOf(claims.accountId, hasIntegerIds),
    email,
    isEmailVerified: email !== null && isTrue(claims.emailVerified),
    tokens,
  }
}

function accountIdOf(value: unknown, hasIntegerIds: boolean): string {
  // JSON.parse rounds numbers past 2^53, so two accounts would get one id.
  if (hasIntegerIds && Number.isSafeInteger(value)) return String(value)
  if (typeof value === 'number' && !hasIntegerIds) {
    throw new ProviderFailed('the account id is a number: set profile.integerAccountId to true')
  }
  const isUsable = typeof value === 'string' && value.trim() !== '' && value.length <= maxAccountIdLength
  if (!isUsable || /\p{Cc}/u.test(value) || isMangled(value)) {
    const expected = `${hasIntegerIds ? 'an integer below 2^53, or ' : ''}text of at most ${maxAccountIdLength} characters`
    throw new ProviderFailed(`the account id of the profile is ${kindOf(value, 'string')}, expected ${expected}`)
  }
  return value
}

/**
 * Microsoft sends a boolean claim as `true`, `1`, `"1"` or `"true"` ("Optional claims reference", `xms_edov`), Amazon
 * Cognito and Apple send `"true"`. Every other value is false.
 */
export function isTrue(value: unknown): boolean {
  return value === true || value === 1 || value === '1' || value === 'true'
}

/** A lone surrogate, or the replacement character of a decoder. Two accounts with such ids could become equal. */
function isMangled(value: string): boolean {
  return /[\p{Cs}\ufffd]/u.test(value)
}

/**
 * The value at a path such as `kakao_account.email`. Some providers send `null` or an empty text for a member that they
 * have no value for, so both are `undefined`, as a missing member is.
 */
export function valueAt(value: unknown, path: string): unknown {
  return memberAt(value, path.split('.'))
}

/** The same for a path whose names may have dots. */
export function memberAt(value: unknown, path: readonly string[]): unknown {
  const found = path.reduce<unknown>((inner, name) => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return undefined
    return (inner as Record<string, unknown>)[name] // safe: it has this very property
  }, value)
  return found === null || found === '' ? undefined : found
}

/**
 * The data of a provider for own fields: of each field the first value that one of the answers has.
 *
 * @param wanted the claim of each field. Its name may have dots (`https://acme.example/plan`), or be a path.
 */
export function fieldsIn(answers: readonly unknown[], wanted: Readonly<Record<string, string>> = {}) {
  const found = Object.entries(wanted).map(([field, claim]) => {
    const values = answers.map((answer) => memberAt(answer, [claim]) ?? valueAt(answer, claim))
    return [field, values.find((value) => value !== undefined)] as const
  })
  return Object.fromEntries(found.filter(([, value]) => value !== undefined))
}

/** The kind of a value for a message, which never quotes the value. A value of the `expected` type is a wrong one. */
export function kindOf(value: unknown, expected?: 'string' | 'number'): string {
  if (value === undefined || value === null || value === '') return 'missing'
  if (typeof value === expected) return 'another value'
  if (Array.isArray(value)) return 'a list'
  const kinds: Partial<Record<string, string>> = { string: 'text', number: 'a number', boolean: 'a boolean' }
  return kinds[typeof value] ?? 'an object'
}

/** RFC 6749 section 5.2, and GitHub's "Troubleshooting OAuth app access token request errors". */
const errorsOfClient: readonly unknown[] = [
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
]
const errorsOfCode: readonly unknown[] = ['invalid_request', 'invalid_grant', 'bad_verification_code']

/** Statuses that ask for a later retry (RFC 9110 section 15.5.9, RFC 8470, RFC 6585 section 4). */
const retryStatuses = [408, 425, 429]

/**
 * The refusal in a token endpoint's answer; `null` for none. GitHub, Reddit and Naver send the errors of RFC 6749
 * section 5.2 with status 200. The message holds known error codes only, because other text may contain the code or an address.
 */
function refusalIn(status: number, body: unknown): CodeRefused | null {
  const error = valueAt(body, 'error')
  const isClientError = status >= 400 && status < 500 && !retryStatuses.includes(status)
  if (status < 300 ? typeof error !== 'string' : !isClientError) return null
  const isAboutUs = errorsOfClient.includes(error)
  const reason = isAboutUs || errorsOfCode.includes(error) ? `${error}, ` : ''
  return new CodeRefused(`the token endpoint refuses (${reason}status ${status})`, { isAboutUs })
}

/**
 * Throws `CodeRefused` if the token endpoint refuses, and `ProviderFailed` if its status tells nothing. Every status 2xx
 * is a success.
 */
export function demandTokenAnswer(status: number, body: unknown): void {
  const refusal = refusalIn(status, body)
  if (refusal !== null) throw refusal
  if (!isSuccess(status)) throw new ProviderFailed(`the token endpoint has no usable answer (status ${status})`)
}

/** The JSON of a profile or user information endpoint, whatever its content type says. */
export async function profileIn(response: Response): Promise<unknown> {
  if (!isSuccess(response.status)) {
    throw new ProviderFailed(`the request for the profile got status ${response.status}`)
  }
  return await response.json()
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** Reads a token endpoint's answer with a status of success (RFC 6749 section 5.1). */
export function tokensOf(answer: unknown, now: Date): ProviderTokens {
  const accessToken = valueAt(answer, 'access_token')
  if (!isToken(accessToken)) {
    const found = kindOf(accessToken, 'string')
    throw new ProviderFailed(
      `"access_token" of the token endpoint is ${found}, expected at most ${maxTokenLength} printable characters`,
    )
  }
  const type = valueAt(answer, 'token_type')
  // RFC 6749 section 7.1: a client must not use a token of an unknown type.
  if (type !== undefined && (typeof type !== 'string' || type.toLowerCase() !== 'bearer')) {
    throw new ProviderFailed(`"token_type" of the token endpoint is ${kindOf(type, 'string')}, expected Bearer`)
  }
  const refreshToken = valueAt(answer, 'refresh_token')
  return {
    accessToken,
    refreshToken: isToken(refreshToken) ? refreshToken : null,
    expiresAt: expiryOf(valueAt(answer, 'expires_in'), now),
  }
}

/** RFC 6749 appendices A.12 and A.17: printable ASCII. They set no length, so we bound what is stored. */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxTokenLength && /^[ -~]+$/.test(value)
}

/** Naver sends the number as text. `null` for a value that is no number of seconds. */
function expiryOf(expiresIn: unknown, now: Date): Date | null {
  const seconds = typeof expiresIn === 'string' && /^\d{1,12}$/.test(expiresIn) ? Number(expiresIn) : expiresIn
  if (typeof seconds !== 'number' || !(seconds > 0 && seconds < 1e12)) return null
  return new Date(now.getTime() + Math.floor(seconds) * 1000)
}
