import { type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import type { DeviceTokens } from '../../application/ports/device-tokens.ts'
import type { EmailKey } from '../../domain/email.ts'
import { keyedHash } from './derived-keys.ts'

export const deviceTokenSeconds = 365 * 86_400

/**
 * Tokens of the form `id.expiry.mac`, where `expiry` is in seconds since 1970.
 *
 * @param former keys whose tokens count, too
 */
export function deviceTokens(key: KeyObject, clock: () => Date, former: readonly KeyObject[] = []): DeviceTokens {
  const keys = [key, ...former]
  const macOf = (secret: KeyObject, id: string, expiry: string, account: EmailKey): string =>
    keyedHash(secret, id, expiry, account)
  const now = () => Math.floor(clock().getTime() / 1000)

  return {
    issue(account) {
      const id = randomBytes(16).toString('base64url')
      const expiry = String(now() + deviceTokenSeconds)
      return [id, expiry, macOf(key, id, expiry, account)].join('.')
    },

    idOf(token, account) {
      const [id = '', expiry = '', mac = '', ...rest] = token.split('.')
      const isGenuine = rest.length === 0 && keys.some((one) => isSame(mac, macOf(one, id, expiry, account)))
      return isGenuine && Number(expiry) > now() ? id : null
    },
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
