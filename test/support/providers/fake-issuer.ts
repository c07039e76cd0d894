import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Asked, FakeProvider, Reply } from './fake-provider.ts'

type Claims = Readonly<Record<string, unknown>>

/** The differences of an ID token from that of a good issuer. */
export interface IdToken {
  /** Over the standard ones; `undefined` leaves one out. */
  readonly claims?: Claims
  readonly algorithm?: 'RS256' | 'HS256' | 'none'
  readonly key?: KeyObject
  /** The key of HS256; by default the public key, which everybody knows. */
  readonly secret?: string
  /** Written into the header; by default the key's own. */
  readonly kid?: string
  /** Changes the finished token. */
  readonly tamper?: (token: string) => string
}

export interface Issuer {
  readonly issuer: string
  readonly clientId: string
  /** Read at each request, so that a test may change what comes next. */
  idToken: IdToken
  /** `null`: there is none. */
  userInfo: Reply | null
  metadata: Claims
  /** Added to the answer of the token endpoint. */
  token: Claims
  tokenStatus: number
  /** Added to the published key. */
  publishedKey: Claims
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** A key that its issuer has never published. */
export const strangeKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

/**
 * Plays an OpenID provider with keys of its own on `fake`. The nonce of an ID token is the one of the authorization
 * request that `approve` was given.
 *
 * @param place the address below which its metadata and endpoints are
 */
export function fakeIssuer(
  fake: FakeProvider,
  issuer: string,
  clientId: string,
  now = () => Date.now(),
  place = issuer,
) {
  const base = place.replace(/\/$/, '')
  const own = base.replace(/^https?:\/\//, '')
  const nonces = new Map<string, string>()
  const it: Issuer = {
    issuer,
    clientId,
    idToken: {},
    userInfo: null,
    metadata: {},
    token: {},
    tokenStatus: 200,
    publishedKey: {},
  }

  fake.answer(`${own}/.well-known/openid-configuration`, () => ({
    body: {
      issuer,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      jwks_uri: `${base}/jwks`,
      ...(it.userInfo !== null && { userinfo_endpoint: `${base}/userinfo` }),
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      ...it.metadata,
    },
  }))
  fake.answer(`${own}/jwks`, () => ({
    body: {
      keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256', ...it.publishedKey }],
    },
  }))
  fake.answer(`${own}/userinfo`, () => it.userInfo ?? { status: 404 })
  const tokens = (asked: Asked) => ({
    access_token: 'at-1',
    token_type: 'Bearer',
    expires_in: 300,
    ...(asked.form.get('grant_type') !== 'refresh_token' && {
      id_token: mint(it, nonces.get(asked.form.get('code') ?? ''), now()),
    }),
    ...it.token,
  })
  fake.answerTokens(`${own}/token`, tokens, undefined, () => it.tokenStatus)
  return {
    /** For the test to change. */
    it,
    /** A JWT of this issuer, with these claims. */
    sign: (claims: Claims, departure: IdToken = {}) =>
      mint({ ...it, idToken: { ...departure, claims } }, undefined, now()),
    /** As the provider's `approve`, and remembers the nonce. */
    approve(authorizationUrl: string) {
      const back = fake.approve(authorizationUrl)
      nonces.set(back.code, new URL(authorizationUrl).searchParams.get('nonce') ?? '')
      return back
    },
  }
}

function mint({ issuer, clientId, idToken }: Issuer, nonce: string | undefined, now: number): string {
  const {
    claims,
    algorithm = 'RS256',
    key = privateKey,
    secret,
    kid = 'k1',
    tamper = (token: string) => token,
  } = idToken
  const seconds = Math.floor(now / 1000)
  const standard = { iss: issuer, sub: 'sub-1', aud: clientId, iat: seconds, exp: seconds + 300, nonce }
  const input = [
    { alg: algorithm, kid },
    { ...standard, ...claims },
  ]
    .map(encoded)
    .join('.')
  return tamper(`${input}.${signature(input, algorithm, key, secret)}`)
}

function encoded(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function signature(input: string, algorithm: 'RS256' | 'HS256' | 'none', key: KeyObject, secret?: string) {
  if (algorithm === 'none') return ''
  if (algorithm === 'RS256') return createSign('sha256').update(input).sign(key, 'base64url')
  // The public key as an HMAC secret deceives a verifier that lets the token choose (CVE-2015-9235).
  const pem = publicKey.export({ format: 'pem', type: 'spki' })
  return createHmac('sha256', secret ?? pem)
    .update(input)
    .digest('base64url')
}
