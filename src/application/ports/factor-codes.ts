/** The codes of second factors. */
export interface FactorCodes {
  /** A random secret of 160 bits in base32 (RFC 4226 section 4, RFC 4648 section 6). */
  newTotpSecret(): string

  /** The `otpauth:` address that authenticator apps read from a QR code. */
  totpAddress(secret: string, account: string): Promise<string>

  /** The time step that a code belongs to: the present one, or the one before or after it (RFC 6238 section 5.2); otherwise `null`. */
  totpStep(secret: string, code: string, at: Date): Promise<number | null>

  /** A set of ten new codes of 50 random bits, and the key of their digests. */
  newRecoveryCodes(): { readonly key: string; readonly codes: readonly string[] }

  /** The HMAC of a code as somebody typed it, with or without dashes and white space, in either case. */
  recoveryDigest(key: string, code: string): string
}
