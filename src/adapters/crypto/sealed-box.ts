import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'

const cipher = 'aes-256-gcm'
const nonceBytes = 12 // NIST SP 800-38D section 8.2.2: random nonces of 96 bits
const tagBytes = 16

/** Encrypts and authenticates; opening needs the same `binding`. */
export function seal(key: KeyObject, plain: Buffer, binding: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes)
  const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes })
  sealing.setAAD(binding)
  return Buffer.concat([nonce, sealing.update(plain), sealing.final(), sealing.getAuthTag()])
}

/** `null` for a box that none of the keys has sealed, or one of them with another binding. */
export function open(keys: readonly KeyObject[], sealed: Buffer, binding: Buffer): Buffer | null {
  if (sealed.length < nonceBytes + tagBytes) return null
  for (const key of keys) {
    const plain = openWith(key, sealed, binding)
    if (plain !== null) return plain
  }
  return null
}

function openWith(key: KeyObject, sealed: Buffer, binding: Buffer): Buffer | null {
  const opening = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
  opening.setAAD(binding)
  opening.setAuthTag(sealed.subarray(-tagBytes))
  try {
    return Buffer.concat([opening.update(sealed.subarray(nonceBytes, -tagBytes)), opening.final()])
  } catch {
    return null
  }
}
