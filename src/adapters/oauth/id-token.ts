import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { ProviderFailed } from '../../application/ports/oauth-provider.ts'
import { kindOf, valueAt } from './identity.ts'
import { isForManyTenants, issuerOfTenant } from './many-issuers.ts'

/** The request that an ID token must fit. */
interface Request {
  readonly issuer: string
  readonly clientId: string
  readonly nonce: string
  /** The algorithms that its ID token may have. */
  readonly algorithms: readonly string[]
}

const toleranceSeconds = 30 // as openid-client
const weakAlgorithms: readonly unknown[] = ['none', 'HS256', 'HS384', 'HS512']

/**
 * The algorithms that an ID token may have: the asymmetric ones of the metadata, and HS256 if the metadata or the
 * settings name it. The client secret is the key of HS256 (OpenID Connect Core section 10.1).
 */
export function acceptedAlgorithms(
  { id_token_signing_alg_values_supported: listed = ['RS256'] }: { id_token_signing_alg_values_supported?: string[] },
  { idTokenAlgorithm, clientSecret }: { readonly idTokenAlgorithm?: string; readonly clientSecret?: string },
): string[] {
  const named = idTokenAlgorithm === undefined ? listed : [idTokenAlgorithm]
  const hasKey = clientSecret !== undefined
  return named.filter((one) => (one === 'HS256' ? hasKey : !weakAlgorithms.includes(one)))
}

/**
 * Names the member for which openid-client has refused an ID token, for the log: its own message has a code that many
 * causes share. It decides nothing, so it reads the token without verifying it.
 *
 * @returns `null` if each member is as expected
 */
export function objectionToIdToken(jwt: unknown, request: Request, now: Date): ProviderFailed | null {
  if (typeof jwt !== 'string') return unexpected('"id_token" of the token endpoint', jwt, 'a signed JWT')
  const [header, claims] = [0, 1].map((index) => partOf(jwt, index))
  if (header === null || claims === null) return unexpected('"id_token" of the token endpoint', jwt, 'a signed JWT')
  const seconds = now.getTime() / 1000
  const { clientId } = request
  const issuer = isForManyTenants(request.issuer) ? issuerOfTenant(request.issuer, claims) : request.issuer

  const algorithm = valueAt(header, 'alg')
  if (!request.algorithms.includes(String(algorithm))) {
    const found = weakAlgorithms.includes(algorithm) ? String(algorithm) : kindOf(algorithm, 'string')
    const isHmac = request.algorithms.join() === 'HS256'
    const expected = isHmac ? 'HS256' : 'an asymmetric one of "id_token_signing_alg_values_supported" in the metadata'
    return new ProviderFailed(`"alg" of the ID token is ${found}, expected ${expected}`)
  }
  const isTime = (value: unknown): value is number => typeof value === 'number'
  const rules: [member: string, expected: string, type: 'string' | 'number', (value: unknown) => boolean][] = [
    ['iss', 'the issuer', 'string', (iss) => iss === issuer],
    ['sub', 'text', 'string', (sub) => typeof sub === 'string'],
    ['aud', 'the client id', 'string', (aud) => [aud].flat().includes(clientId)],
    ['azp', 'the client id', 'string', (azp) => azp === undefined || azp === clientId],
    ['exp', 'a later time, as a number', 'number', (exp) => isTime(exp) && exp > seconds - toleranceSeconds],
    ['iat', 'a time, as a number', 'number', isTime],
    ['nbf', 'an earlier time, as a number', 'number', (nbf = 0) => isTime(nbf) && nbf <= seconds + toleranceSeconds],
    ['auth_time', 'a time, as a number', 'number', (time = 0) => isTime(time)],
    ['nonce', 'the nonce of the request', 'string', (nonce) => nonce === request.nonce],
  ]
  for (const [member, expected, type, isMet] of rules) {
    const value = valueAt(claims, member)
    if (!isMet(value)) return unexpected(`"${member}" of the ID token`, value, expected, type)
  }
  return null
}

/**
 * OpenID Connect Core section 2: `azp` is "the party to which the ID Token was issued". openid-client checks it only
 * when there are several audiences.
 */
export function demandParty(idToken: unknown, clientId: string): void {
  const azp = valueAt(idToken, 'azp')
  if (azp !== undefined && azp !== clientId) throw unexpected('"azp" of the ID token', azp, 'the client id', 'string')
}

/**
 * OpenID Connect Core sections 3.1.3.6 and 3.1.3.8: `at_hash` is optional, and binds the access token to the ID token.
 *
 * @param jwt the encoded ID token, which is verified already
 */
export function demandHash(idToken: unknown, jwt: string, accessToken: string): void {
  const given = valueAt(idToken, 'at_hash')
  if (given === undefined) return
  // RS256, PS384, ES512 and HS256 name their hash. EdDSA has SHA-512 within (RFC 8032 section 5.1).
  const [, bits = '512'] = /^[RPEH]S(256|384|512)$/.exec(String(valueAt(partOf(jwt, 0), 'alg'))) ?? []
  const whole = hash(`sha${bits}`, accessToken, 'buffer')
  if (given !== whole.subarray(0, whole.length / 2).toString('base64url')) {
    throw unexpected('"at_hash" of the ID token', given, 'the hash of the access token', 'string')
  }
}

/**
 * Verifies the signature of an ID token of HS256 (OpenID Connect Core section 10.1). The key is the client secret and
 * never a published key, which everybody knows (RFC 8725 section 2.1).
 */
export function demandHmac(jwt: string, clientSecret: string): void {
  const end = jwt.lastIndexOf('.')
  const expected = createHmac('sha256', clientSecret).update(jwt.slice(0, end)).digest()
  const given = Buffer.from(jwt.slice(end + 1), 'base64url')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new ProviderFailed('the signature of the ID token is not by the client secret')
  }
}

export function algorithmOf(jwt: unknown): unknown {
  return typeof jwt === 'string' ? valueAt(partOf(jwt, 0), 'alg') : undefined
}

/** The header (0) or the claims (1) of a JWT; `null` if it has none. */
export function partOf(jwt: string, index: number): unknown {
  try {
    return JSON.parse(Buffer.from(jwt.split('.')[index] ?? '', 'base64url').toString())
  } catch {
    return null
  }
}

function unexpected(member: string, found: unknown, expected: string, type: 'string' | 'number' = 'string') {
  return new ProviderFailed(`${member} is ${kindOf(found, type)}, expected ${expected}`)
}
