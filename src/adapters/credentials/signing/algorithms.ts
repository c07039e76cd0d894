import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  hash,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto'
import { promisify } from 'node:util'

/** A JSON Web Key with the members that its type requires, and no private one (RFC 7517 section 4). */
export type PublicJwk = Readonly<Record<string, string>>

interface Algorithm {
  generate(): Promise<{ readonly publicKey: KeyObject; readonly privateKey: KeyObject }>
  /** `null` for an algorithm that hashes by itself. */
  readonly digest: 'sha256' | null
  /** The members that the type requires, in the order of a thumbprint (RFC 7638 section 3.2, RFC 8037 section 2). */
  readonly members: readonly string[]
}

const generate = promisify(generateKeyPair)

/** The names of RFC 7518 section 3.1 and RFC 8037 section 3.1. Several libraries do not know `Ed25519` (RFC 9864). */
const algorithms = {
  EdDSA: { generate: () => generate('ed25519', {}), digest: null, members: ['crv', 'kty', 'x'] },
  ES256: {
    generate: () => generate('ec', { namedCurve: 'P-256' }),
    digest: 'sha256',
    members: ['crv', 'kty', 'x', 'y'],
  },
  // RFC 7518 section 3.3 demands 2048 bits. NIST SP 800-57 part 1 section 5.6.1 allows fewer than 3072 until 2030 only.
  RS256: { generate: () => generate('rsa', { modulusLength: 3072 }), digest: 'sha256', members: ['e', 'kty', 'n'] },
} as const satisfies Readonly<Record<string, Algorithm>>

export type KeyAlgorithm = keyof typeof algorithms

export const keyAlgorithms = Object.keys(algorithms) as readonly KeyAlgorithm[] // safe: the keys of the table

/** A new pair: the public key, its thumbprint by RFC 7638, and the private key as PKCS #8. */
export async function newKeyPair(alg: KeyAlgorithm) {
  const { publicKey, privateKey } = await algorithms[alg].generate()
  const exported: Readonly<Record<string, unknown>> = publicKey.export({ format: 'jwk' })
  const publicJwk: PublicJwk = Object.fromEntries(algorithms[alg].members.map((name) => [name, String(exported[name])]))
  const kid = hash('sha256', JSON.stringify(publicJwk), 'base64url')
  return { alg, kid, publicJwk, privateKey: privateKey.export({ format: 'der', type: 'pkcs8' }) }
}

export function publicKeyOf(publicJwk: PublicJwk): KeyObject {
  return createPublicKey({ key: publicJwk, format: 'jwk' })
}

export function privateKeyOf(pkcs8: Buffer): KeyObject {
  return createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
}

/** A signature of ES256 is r and s, each of 32 bytes (RFC 7518 section 3.4). The option concerns no other algorithm. */
const dsaEncoding = 'ieee-p1363'

export function sign(alg: KeyAlgorithm, key: KeyObject, text: string): string {
  return signBytes(algorithms[alg].digest, Buffer.from(text), { key, dsaEncoding }).toString('base64url')
}

export function isSignature(alg: KeyAlgorithm, key: KeyObject, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  return verifyBytes(algorithms[alg].digest, Buffer.from(text), { key, dsaEncoding }, bytes)
}
