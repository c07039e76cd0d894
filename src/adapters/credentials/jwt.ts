import { hash, type KeyObject } from 'node:crypto'
import jsonwebtoken from 'jsonwebtoken'
import type { Credential, Credentials } from '../../application/ports/credentials.ts'
import type { ExpiringMarks } from '../../application/ports/stores/expiring-marks.ts'
import { levelOf } from '../../domain/factors.ts'
import { parseUserId } from '../../domain/ids.ts'
import { headerOf, signedToken, verifiedClaims } from './signing/access-token.ts'
import type { JwtAlgorithm } from './signing/options.ts'
import type { SigningKeys } from './signing/signing-keys.ts'

/** The parts of a backend whose tokens other services verify, or once have. */
interface Signing {
  readonly keys: SigningKeys
  /** The algorithm of new tokens. */
  readonly algorithm: JwtAlgorithm
  /** The claims `iss` and `client_id`. */
  readonly issuer: string
  readonly client: string
}

interface Options {
  /**
   * A secret key of at least 32 bytes. A `KeyObject`, because the library would import a string anew at each
   * verification.
   */
  readonly key: KeyObject
  /** Absent: tokens are signed and verified with `key` alone. */
  readonly signing?: Signing
  /** Keys whose tokens count, too. */
  readonly formerKeys?: readonly KeyObject[]
  readonly audience: string
  /** A token of another tenant is not recognised, even if the key is the same. */
  readonly tenant: string
  readonly lifetimeSeconds: number
  /** The names of own fields that are claims of new tokens; none by default. */
  readonly claimFields?: readonly string[]
  readonly expiringMarks: ExpiringMarks
  readonly clock: () => Date
  readonly newId: () => string
}

/** Longer values are refused before they are decoded. */
const maxTokenLength = 8192
/** Each takes about 1 kB. All are forgotten at once at this number: to evict one by one costs more than to verify again. */
const maxRemembered = 120_000
const shape = /^[\w-]+\.[\w-]+\.[\w-]+$/
const endedId = (id: string): string => `jwt:${id}`
const lastSecond = 8.64e12

/**
 * JSON Web Tokens (RFC 7519). Those with a `kid` are verified with the signing key of this name and its algorithm, all others with
 * HMAC-SHA-256 and no other algorithm (RFC 8725 section 3.1). So a change of the algorithm ends no login.
 */
export function jwtCredentials(options: Options): Credentials {
  const { key, signing, audience, tenant, lifetimeSeconds, expiringMarks, clock, newId, claimFields = [] } = options
  const { formerKeys = [] } = options
  /** Verified tokens. Each use checks the expiry again; the user record decides whether the credential is alive. */
  const genuine = new Map<string, Credential>()
  signing?.keys.onRemoved(() => genuine.clear())

  async function verified(value: string, now: Date): Promise<Credential | null> {
    const header = headerOf(value)
    if (header === null || header.kid === undefined) return verifiedByHmac(value, now)
    const claims = signing && (await verifiedClaims(value, header, { keys: signing.keys, audience, now }))
    return claims ? credentialOf(claims, value, tenant) : null
  }

  const verifiedByHmac = (value: string, now: Date): Credential | null => {
    for (const one of [key, ...formerKeys]) {
      const found = verifiedWith(one, value, now)
      if (found !== null) return found
    }
    return null
  }

  const verifiedWith = (key: KeyObject, value: string, now: Date): Credential | null => {
    try {
      // The library treats a timestamp of 0 as absent.
      const clockTimestamp = Math.max(1, secondsOf(now))
      const options = { algorithms: ['HS256' as const], audience, clockTimestamp, complete: true as const }
      const { header, payload } = jsonwebtoken.verify(value, key, options)
      // RFC 7515 section 4.1.11: a token with critical extensions that we do not know is invalid. The library ignores
      // them.
      if ('crit' in header || (header.typ !== undefined && header.typ !== 'JWT')) return null
      return typeof payload === 'string' ? null : credentialOf(payload, value, tenant)
    } catch {
      return null
    }
  }

  /** `null`: by the secret */
  async function currentSigner() {
    const { keys, algorithm = 'HS256' } = signing ?? {}
    return algorithm === 'HS256' || keys === undefined ? null : await keys.signer(algorithm)
  }

  return {
    recognises(value) {
      return shape.test(value)
    },

    async issue(user, { at, methods, sid, app }) {
      const iat = secondsOf(clock())
      const exp = iat + lifetimeSeconds
      const jti = newId()
      const gen = user.sessions.generation
      // RFC 7519 section 4.1, RFC 8176 section 1, OpenID Connect Core section 2, OpenID Connect Back-Channel Logout
      // section 2.4; `gen` and `tenant` are ours.
      const login = { sid: sid ?? jti, auth_time: secondsOf(at), amr: methods, acr: String(levelOf({ methods })) }
      const { shown } = user.fields
      const own = claimFields.flatMap((name) => (shown[name] == null ? [] : [[name, shown[name]] as const]))
      const signer = await currentSigner()
      // RFC 9068 section 2.2. Without an app, `client_id` is the name of the backend.
      const issuer = signer === null ? {} : { iss: signing?.issuer, client_id: app ?? signing?.client }
      const basic = { sub: user.id, aud: audience, iat, exp, jti, gen, tenant }
      const claims = { ...Object.fromEntries(own), ...basic, ...login, ...issuer }
      const value =
        signer === null ? jsonwebtoken.sign(claims, key, { algorithm: 'HS256' }) : signedToken(claims, signer)
      const credential = credentialOf(claims, value, tenant)
      if (credential === null) throw new TypeError('the proof has a time or a method of a wrong type')
      return { value, credential }
    },

    async read(value) {
      const now = clock()
      if (signing?.keys.isOld()) await signing.keys.fresh() // forgets the tokens of a key that was removed
      const remembered = genuine.get(value)
      if (remembered !== undefined) {
        if (remembered.expiresAt > now) return remembered
        genuine.delete(value)
        return null
      }
      if (value.length > maxTokenLength || !shape.test(value)) return null
      const credential = await verified(value, now)
      if (credential === null) return null
      if (genuine.size >= maxRemembered) genuine.clear()
      genuine.set(value, credential)
      return credential
    },

    async revoke({ id, expiresAt }) {
      await expiringMarks.add(endedId(id), expiresAt)
      return 'remember'
    },

    isEnded: ({ id }) => expiringMarks.has(endedId(id)),

    async recordUse() {},
  }
}

/** The credential of verified claims; `null` when a claim that matters is missing or has the wrong type. */
function credentialOf(claims: Record<string, unknown>, value: string, tenant: string): Credential | null {
  const { sub, iat = 0, exp, jti, gen = 0, auth_time = iat, amr = [] } = claims
  const userId = typeof sub === 'string' ? parseUserId(sub) : null
  if (userId === null || claims.tenant !== tenant) return null
  if (!isDate(exp) || !isDate(iat) || !isDate(auth_time)) return null
  if (typeof gen !== 'number' || !Number.isSafeInteger(gen) || gen < 0) return null
  if (!isAbsentOrText(jti) || !isAbsentOrText(claims.sid) || !isTexts(amr)) return null
  const { client_id: app } = claims
  if (!isAbsentOrText(app)) return null
  const id = jti ?? hash('sha256', value, 'base64url')
  return {
    id,
    userId,
    generation: gen,
    sid: claims.sid ?? id,
    provedAt: new Date(auth_time * 1000),
    methods: amr,
    ...(app !== undefined && { app }),
    expiresAt: new Date(exp * 1000),
  }
}

const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000)

const isAbsentOrText = (claim: unknown): claim is string | undefined =>
  claim === undefined || (typeof claim === 'string' && claim !== '')

const isTexts = (claim: unknown): claim is readonly string[] =>
  Array.isArray(claim) && claim.every((one) => typeof one === 'string')

/** A NumericDate (RFC 7519 section 2). JSON.parse reads `1e400` as infinite. */
function isDate(claim: unknown): claim is number {
  return typeof claim === 'number' && claim >= 0 && claim <= lastSecond
}
