import type { EmailKey } from '../../domain/email.ts'

/**
 * Device tokens prove that a browser has logged in to an account before, and nothing else (OWASP, "Slow Down Online
 * Guessing Attacks with Device Cookies").
 */
export interface DeviceTokens {
  /** A new token for an account, signed and valid for a year. */
  issue(account: EmailKey): string

  /** The random id in a token of this account; `null` for any other text. */
  idOf(token: string, account: EmailKey): string | null
}
