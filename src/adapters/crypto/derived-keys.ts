import { createHmac, createSecretKey, hash, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import type { KeyRing } from '../../application/ports/key-ring.ts'
import type { EmailKey } from '../../domain/email.ts'
import { open, seal } from './sealed-box.ts'

type KeyPurpose =
  | 'reset_password'
  | 'verify_email'
  | 'change_email'
  | 'token requests'
  | 'counters'
  | 'seal'
  | 'journeys'
  | 'app codes'
  | 'jwt'
  | 'provider tokens'
  | 'device tokens'
  | 'signing keys'

export interface DerivedKeys extends KeyRing {
  readonly jwtKey: KeyObject
  readonly providerTokenKey: KeyObject
  readonly deviceTokenKey: KeyObject
  /** Seals a private key under its name. */
  sealSigningKey(key: Buffer, kid: string): string
  /** `null` if another secret, or another name, has sealed it. */
  unsealSigningKey(sealed: string, kid: string): Buffer | null
}

/** The length of the sealed text: every address key fits, with the two bytes of its length. */
const paddedBytes = 320

/**
 * @param master the deployment's secret; the caller demands at least 32 bytes
 * @param tenant the tenant of the keys if several tenants share the secret; otherwise `null`
 */
export function derivedKeys(master: Buffer | string, tenant: string | null = null): DerivedKeys {
  // RFC 5869 section 3.1: a random master secret needs no salt.
  const keyFor = (purpose: KeyPurpose): KeyObject =>
    createSecretKey(Buffer.from(hkdfSync('sha256', master, '', `portcullis ${purpose}${ofTenant(tenant)}`, 32)))

  const tokenKeys = {
    reset_password: keyFor('reset_password'),
    verify_email: keyFor('verify_email'),
    change_email: keyFor('change_email'),
  }
  const requestKey = keyFor('token requests')
  const counterKey = keyFor('counters')
  const sealKey = keyFor('seal')
  const journeyKey = keyFor('journeys')
  const signingKeyKey = keyFor('signing keys')
  const codeKey = keyFor('app codes')

  return {
    digest(token) {
      return hash('sha256', token, 'base64url')
    },

    tokenFor(purpose, eventId, userId, fact) {
      return keyedHash(tokenKeys[purpose], eventId, userId, fact)
    },

    requestId(purpose, key) {
      return keyedHash(requestKey, purpose, key)
    },

    counterKey(...subject) {
      return keyedHash(counterKey, ...subject)
    },

    sealEmail(key, requestId) {
      return seal(sealKey, padded(key), Buffer.from(requestId)).toString('base64url')
    },

    unsealEmail(sealed, requestId) {
      const plain = open(sealKey, Buffer.from(sealed, 'base64url'), Buffer.from(requestId))
      if (plain === null || plain.length !== paddedBytes) return null
      // Safe: the authentication tag proves that `sealEmail` sealed an EmailKey.
      return plain.subarray(2, 2 + plain.readUInt16BE(0)).toString() as EmailKey
    },

    sealJourney({ codeVerifier, nonce }, digest) {
      const plain = Buffer.from(JSON.stringify({ codeVerifier, nonce }))
      return seal(journeyKey, plain, Buffer.from(digest)).toString('base64url')
    },

    unsealJourney(sealed, digest) {
      const plain = open(journeyKey, Buffer.from(sealed, 'base64url'), Buffer.from(digest))
      return plain === null ? null : JSON.parse(plain.toString())
    },

    sealSigningKey(key, kid) {
      return seal(signingKeyKey, key, Buffer.from(kid)).toString('base64url')
    },

    unsealSigningKey(sealed, kid) {
      return open(signingKeyKey, Buffer.from(sealed, 'base64url'), Buffer.from(kid))
    },

    sealCode(content, digest) {
      return seal(codeKey, Buffer.from(JSON.stringify(content)), Buffer.from(digest)).toString('base64url')
    },

    unsealCode(sealed, digest) {
      const plain = open(codeKey, Buffer.from(sealed, 'base64url'), Buffer.from(digest))
      return plain === null ? null : JSON.parse(plain.toString())
    },

    jwtKey: keyFor('jwt'),
    providerTokenKey: keyFor('provider tokens'),
    deviceTokenKey: keyFor('device tokens'),
  }
}

/**
 * A check value of secret and tenant. The user store keeps it to recognise another secret or tenant.
 */
export function secretMark(master: Buffer | string, tenant: string | null = null): string {
  return createHmac('sha256', master)
    .update(`portcullis check${ofTenant(tenant)}`)
    .digest('base64url')
}

/** Separates purpose and tenant. No purpose ends like this, so two tenants never share a key. */
function ofTenant(tenant: string | null): string {
  return tenant === null ? '' : ` of tenant ${tenant}`
}

/** The token of a session: 43 characters with 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** The HMAC of a list of fields, in base64url. Each field follows its length, so no two lists have the same bytes. */
export function keyedHash(key: KeyObject, ...fields: readonly string[]): string {
  const mac = createHmac('sha256', key)
  for (const field of fields) {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(Buffer.byteLength(field))
    mac.update(length).update(field)
  }
  return mac.digest('base64url')
}

/** Pads the text to a fixed length, so the stored length reveals nothing about the address. */
function padded(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length > paddedBytes - 2) throw new RangeError(`cannot seal ${bytes.length} bytes`)
  const room = Buffer.alloc(paddedBytes)
  room.writeUInt16BE(bytes.length)
  bytes.copy(room, 2)
  return room
}
