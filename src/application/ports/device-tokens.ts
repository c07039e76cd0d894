import type { EmailKey } from '../../domain/email.ts'

/**
 * Device tokens prove that a browser has logged in to an account before, and nothing else (OWASP, "Slow Down Online
 * Guessing Attacks with Device Cookies").
 */
export interface DeviceTokens {
  /**
   * A new token for an account, signed and valid for a year.
   *
   * @param before the text that the browser has; `null` for none. The result keeps the tokens of the last four other accounts in it.
   */
  issue(account: EmailKey, before?: string | null): string

  /** The random id in a token of this account, perhaps beside those of others; `null` for any other text. */
  idOf(text: string, account: EmailKey): string | null

  /** The text without the tokens of this account, and without all that is no token; empty if none is left. */
  without(text: string, account: EmailKey): string
}
