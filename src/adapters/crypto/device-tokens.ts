import { type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import type { DeviceTokens } from '../../application/ports/device-tokens.ts'
import type { EmailKey } from '../../domain/email.ts'
import { keyedHash } from './derived-keys.ts'

export const deviceTokenSeconds = 365 * 86_400

/** Of how many accounts a browser has tokens. */
const mostAccounts = 5
const separator = '~'
const tokenForm = /^[\w-]{22}\.\d{10}\.[\w-]{43}$/

const tokensIn = (text: string): readonly string[] => text.split(separator, mostAccounts)

/**
 * Tokens of the form `id.expiry.mac`, where `expiry` is in seconds since 1970. A browser that several people use has some of them, with the
 * latest first.
 *
 * @param former keys whose tokens count, too
 */
export function deviceTokens(key: KeyObject, clock: () => Date, former: readonly KeyObject[] = []): DeviceTokens {
  const keys = [key, ...former]
  const macOf = (secret: KeyObject, id: string, expiry: string, account: EmailKey): string =>
    keyedHash(secret, id, expiry, account)
  const idIn = (token: string, account: EmailKey): string | null => {
    const [id = '', expiry = '', mac = '', ...rest] = token.split('.')
    const isGenuine = rest.length === 0 && keys.some((one) => isSame(mac, macOf(one, id, expiry, account)))
    return isGenuine && Number(expiry) > now() ? id : null
  }
  const others = (text: string, account: EmailKey): string[] =>
    tokensIn(text).filter((one) => tokenForm.test(one) && idIn(one, account) === null)
  const now = () => Math.floor(clock().getTime() / 1000)

  return {
    issue(account, before = null) {
      const id = randomBytes(16).toString('base64url')
      const expiry = String(now() + deviceTokenSeconds)
      const token = [id, expiry, macOf(key, id, expiry, account)].join('.')
      return [token, ...others(before ?? '', account)].slice(0, mostAccounts).join(separator)
    },

    idOf(text, account) {
      for (const token of tokensIn(text)) {
        const id = idIn(token, account)
        if (id !== null) return id
      }
      return null
    },

    without: (text, account) => others(text, account).join(separator),
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
