import { createHmac, randomBytes } from 'node:crypto'
import type { FactorCodes } from '../../application/ports/factor-codes.ts'
import { totpSeconds } from '../../domain/factors.ts'
import { typedCode } from '../../lib/typed-code.ts'

const recoveryCodes = 10
const recoveryCharacters = 10
/** Base32 without letters that people mistake for digits (Crockford). 5 bits each. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const secretBytes = 20
const sixDigits = /^[0-9]{6}$/

/** @param service the name of the service in authenticator apps, which replace an entry of the same issuer and account */
export function factorCodes(service: string): FactorCodes {
  const issuer = withoutColon(service)
  // Loaded on demand, because most deployments have no second factors.
  const totpOf = async (secret: string, label = '') => {
    const { Secret, TOTP } = await import('otpauth')
    return new TOTP({ issuer, label: withoutColon(label), secret: Secret.fromBase32(secret), period: totpSeconds })
  }
  return {
    newTotpSecret: () => base32(randomBytes(secretBytes)),

    async totpAddress(secret, account) {
      return (await totpOf(secret, account)).toString()
    },

    async totpStep(secret, code, at) {
      const token = typedCode(code)
      if (!sixDigits.test(token)) return null // the library fails at other digits than 0 to 9
      const timestamp = at.getTime()
      const distance = (await totpOf(secret)).validate({ token, timestamp, window: 1 })
      return distance === null ? null : Math.floor(timestamp / (totpSeconds * 1000)) + distance
    },

    newRecoveryCodes() {
      const codes = Array.from({ length: recoveryCodes }, () => {
        // Equally likely characters, because 256 is a multiple of 32.
        const text = [...randomBytes(recoveryCharacters)].map((byte) => alphabet[byte % alphabet.length]).join('')
        return `${text.slice(0, 5)}-${text.slice(5)}`
      })
      return { key: randomBytes(32).toString('base64url'), codes }
    },

    recoveryDigest(key, code) {
      return createHmac('sha256', Buffer.from(key, 'base64url')).update(canonical(code)).digest('base64url')
    },
  }
}

/** A colon separates the issuer from the account (Key URI Format of Google Authenticator). */
function withoutColon(text: string): string {
  return text.replaceAll(/\s*:\s*/g, ' ').trim()
}

/** Letters that were read for digits count as those digits. */
function canonical(code: string): string {
  const plain = typedCode(code).toLowerCase()
  return plain.replaceAll('o', '0').replaceAll(/[il]/g, '1')
}

const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648 section 6, for a length that needs no padding. */
function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return bits.replaceAll(/.{5}/g, (five) => base32Alphabet[Number.parseInt(five, 2)] ?? '')
}
