import { createHmac, createSecretKey, hash, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { counterSeparator, type KeyRing } from '../../application/ports/key-ring.ts'
import type { EmailKey } from '../../domain/email.ts'
import { open, seal } from './sealed-box.ts'

type KeyPurpose =
  | 'reset_password'
  | 'verify_email'
  | 'change_email'
  | 'keep_factors'
  | 'invite'
  | 'token requests'
  | 'counters'
  | 'seal'
  | 'app codes'
  | 'jwt'
  | 'provider tokens'
  | 'device tokens'
  | 'signing keys'
  | 'second factors'

export interface DerivedKeys extends KeyRing {
  readonly jwtKey: KeyObject
  readonly providerTokenKey: KeyObject
  readonly deviceTokenKey: KeyObject
  /** Seals a private key under its name. */
  sealSigningKey(key: Buffer, kid: string): string
  /** `null` if none of the secrets has sealed it for this name. */
  unsealSigningKey(sealed: string, kid: string): Buffer | null
  /** The keys of the former secrets. They open and verify, and sign nothing. */
  readonly former: {
    readonly jwtKeys: readonly KeyObject[]
    readonly providerTokenKeys: readonly KeyObject[]
    readonly deviceTokenKeys: readonly KeyObject[]
  }
}

type Secret = Buffer | string

type Keys = readonly [KeyObject, ...KeyObject[]]

/** The length of the sealed text: every address key fits, with the two bytes of its length. */
const paddedBytes = 320

/**
 * @param masters the deployment's secret, or several: the first signs and seals, all open. The caller demands at least 32 bytes of each
 * @param tenant the tenant of the keys if several tenants share the secret; otherwise `null`
 */
export function derivedKeys(
  masters: Secret | readonly [Secret, ...Secret[]],
  tenant: string | null = null,
): DerivedKeys {
  const [master, ...former] = Array.isArray(masters) ? masters : [masters]
  // RFC 5869 section 3.1: a random master secret needs no salt.
  const keyOf = (secret: Secret, purpose: KeyPurpose): KeyObject =>
    createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `portcullis ${purpose}${ofTenant(tenant)}`, 32)))
  const keysFor = (purpose: KeyPurpose): Keys => [
    keyOf(master, purpose),
    ...former.map((secret) => keyOf(secret, purpose)),
  ]

  const tokenKeys = {
    reset_password: keysFor('reset_password'),
    verify_email: keysFor('verify_email'),
    change_email: keysFor('change_email'),
    keep_factors: keysFor('keep_factors'),
    invite: keysFor('invite'),
  }
  const [requestKey] = keysFor('token requests')
  const counterKeys = keysFor('counters')
  const sealKeys = keysFor('seal')
  const signingKeyKeys = keysFor('signing keys')
  const recordKeys = keysFor('app codes')
  const factorKeys = keysFor('second factors')
  const [jwtKey, ...jwtKeys] = keysFor('jwt')
  const [providerTokenKey, ...providerTokenKeys] = keysFor('provider tokens')
  const [deviceTokenKey, ...deviceTokenKeys] = keysFor('device tokens')
  const digest = (token: string): string => hash('sha256', token, 'base64url')

  return {
    digest,

    tokenFor(purpose, eventId, userId, fact) {
      return keyedHash(tokenKeys[purpose][0], eventId, userId, fact)
    },

    tokenOf(known, purpose, eventId, userId, fact) {
      const candidates = tokenKeys[purpose].map((key) => keyedHash(key, eventId, userId, fact))
      return candidates.find((token) => digest(token) === known) ?? null
    },

    requestId(purpose, key) {
      return keyedHash(requestKey, purpose, key)
    },

    counterKey(...subject) {
      return counterKeys.map((key) => keyedHash(key, ...subject)).join(counterSeparator)
    },

    sealEmail(key, requestId) {
      return seal(sealKeys[0], padded(key), Buffer.from(requestId)).toString('base64url')
    },

    unsealEmail(sealed, requestId) {
      const plain = open(sealKeys, Buffer.from(sealed, 'base64url'), Buffer.from(requestId))
      if (plain === null || plain.length !== paddedBytes) return null
      // Safe: the authentication tag proves that `sealEmail` sealed an EmailKey.
      return plain.subarray(2, 2 + plain.readUInt16BE(0)).toString() as EmailKey
    },

    sealSigningKey(key, kid) {
      return seal(signingKeyKeys[0], key, Buffer.from(kid)).toString('base64url')
    },

    unsealSigningKey(sealed, kid) {
      return open(signingKeyKeys, Buffer.from(sealed, 'base64url'), Buffer.from(kid))
    },

    sealRecord(content, key) {
      return seal(recordKeys[0], Buffer.from(JSON.stringify(content)), Buffer.from(key)).toString('base64url')
    },

    unsealRecord(sealed, key) {
      const plain = open(recordKeys, Buffer.from(sealed, 'base64url'), Buffer.from(key))
      return plain === null ? null : JSON.parse(plain.toString())
    },

    sealFactor(plain, binding) {
      return seal(factorKeys[0], Buffer.from(plain), Buffer.from(binding)).toString('base64url')
    },

    unsealFactor(sealed, binding) {
      return open(factorKeys, Buffer.from(sealed, 'base64url'), Buffer.from(binding))?.toString() ?? null
    },

    jwtKey,
    providerTokenKey,
    deviceTokenKey,
    former: { jwtKeys, providerTokenKeys, deviceTokenKeys },
  }
}

/**
 * A check value of secret and tenant. The user store keeps it to recognise another secret or tenant.
 */
export function secretMark(master: Secret, tenant: string | null = null): string {
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
