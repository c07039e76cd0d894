import { isSignature, type KeyAlgorithm, sign } from './algorithms.ts'
import type { Signer, SigningKeys } from './signing-keys.ts'

/** RFC 9068 section 2.1. */
const typ = 'at+jwt'

/** The access token of these claims. */
export function signedToken(claims: object, { alg, kid, key }: Signer): string {
  const input = `${encoded({ alg, kid, typ })}.${encoded(claims)}`
  return `${input}.${sign(alg, key, input)}`
}

export interface Header {
  readonly alg?: unknown
  readonly typ?: unknown
  readonly kid?: unknown
  readonly crit?: unknown
}

/** The header of a token, which nothing has verified; `null` if it is no JSON object. */
export function headerOf(value: string): Header | null {
  const header = decoded(value.slice(0, value.indexOf('.')))
  return typeof header === 'object' && header !== null && !Array.isArray(header) ? header : null
}

/**
 * The claims of a token that one of these keys has signed for `audience`, and that has not expired; otherwise `null`. The `kid`
 * alone chooses the key, and the key the algorithm (RFC 8725 section 3.1). Members that bring or name a key, such as `jwk` and
 * `jku`, mean nothing here. `iss` is not compared: no other service has these keys, and the public URL may change.
 */
export async function verifiedClaims(
  value: string,
  { alg, kid, typ: type, crit }: Header,
  { keys, audience, now }: { keys: Pick<SigningKeys, 'find'>; audience: string; now: Date },
): Promise<Record<string, unknown> | null> {
  // RFC 7515 section 4.1.11: a token with critical extensions that we do not know is invalid.
  if (typeof kid !== 'string' || type !== typ || crit !== undefined) return null
  const found = await keys.find(kid)
  if (found === null || alg !== found.alg) return null
  const end = value.lastIndexOf('.')
  if (!isSignature(found.alg satisfies KeyAlgorithm, found.key, value.slice(0, end), value.slice(end + 1))) return null
  const claims = decoded(value.slice(value.indexOf('.') + 1, end))
  if (typeof claims !== 'object' || claims === null) return null
  const { aud, exp } = claims as Record<string, unknown> // safe: an object
  if (![aud].flat().includes(audience)) return null
  return typeof exp === 'number' && exp > now.getTime() / 1000 ? { ...claims } : null
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

function decoded(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString())
  } catch {
    return undefined
  }
}
