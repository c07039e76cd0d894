import { type Email, localPart } from './email.ts'

/** What a new password must be. */
export interface PasswordPolicy {
  /** In code points (NIST SP 800-63B-4 section 3.1.1.2 counts each as one character). */
  readonly minLength: number
  /** Whether a password, lower-cased, is one that guessers try first. */
  readonly isCommon: (lowerCased: string) => boolean
}

/** Longer ones are refused before any hashing, in UTF-8 bytes. */
export const maxPasswordBytes = 1024

/** NFC and nothing else: no trim, no truncation, no case folding (NIST SP 800-63B-4 section 3.1.1.2). */
export function normalisePassword(password: string): string {
  return password.normalize('NFC')
}

/** Too long to be looked at; such a password was never accepted, so it matches no hash. */
export function isOversized(password: string): boolean {
  return password.length > maxPasswordBytes || new TextEncoder().encode(password).length > maxPasswordBytes
}

/** Why `password` cannot be `email`'s, in words for its chooser that never repeat it; `null` when it can. */
export function passwordObjection(password: string, email: Email, policy: PasswordPolicy): string | null {
  if (isOversized(password)) return `Password should be at most ${maxPasswordBytes} bytes`
  const normal = normalisePassword(password)
  if ([...normal].length < policy.minLength) {
    return `Password should be at least ${policy.minLength} characters`
  }
  const lower = normal.toLowerCase()
  if (lower === email.toLowerCase() || lower === localPart(email).toLowerCase()) {
    return 'Password should not be the e-mail address or the part before its @-sign'
  }
  if (policy.isCommon(lower)) return 'Password is one of the most common ones'
  return null
}
