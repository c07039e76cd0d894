import { type Email, emailKey, localPart } from './email.ts'

/** The rules for a new password, in the order in which they are checked. */
export const passwordRules = ['too_long', 'invalid_unicode', 'too_short', 'contains_email', 'common'] as const
export type PasswordRule = (typeof passwordRules)[number]

export interface PasswordObjection {
  /** The broken rule, for programs. */
  readonly rule: PasswordRule
  /** English words for people, which never repeat the password. */
  readonly reason: string
}

export interface PasswordPolicy {
  /** The length in code points (NIST SP 800-63B-4 section 3.1.1.2 counts each as one character). */
  readonly minLength: number
  /** Whether attackers try this lower-case password first. */
  readonly isCommon: (lowerCased: string) => boolean
}

/** The maximum in UTF-8 bytes. Longer passwords are refused before any hashing. */
export const maxPasswordBytes = 1024

/** NFC and nothing else: no trim, no truncation, no case folding (NIST SP 800-63B-4 section 3.1.1.2). */
export function normalisePassword(password: string): string {
  return password.normalize('NFC')
}

/** The maximum at a login, because the hash may be imported from a program that took longer passwords. */
export const maxVerifiedBytes = 4096

function isOversized(password: string, most = maxPasswordBytes): boolean {
  return password.length > most || new TextEncoder().encode(password).length > most
}

/**
 * Whether a password can be hashed. A lone surrogate, which JSON can spell and UTF-8 cannot, would be hashed as U+FFFD,
 * so different passwords would be equal.
 */
export function isHashable(password: string): boolean {
  return !isOversized(password) && isUnicode(password)
}

/** Whether a password may match a hash. */
export function isVerifiable(password: string): boolean {
  return !isOversized(password, maxVerifiedBytes) && isUnicode(password)
}

const isUnicode = (password: string): boolean => !/\p{Surrogate}/u.test(password)

/** The first rule that `password` breaks for the account of `email`; `null` for none. */
export function passwordObjection(password: string, email: Email, policy: PasswordPolicy): PasswordObjection | null {
  if (isOversized(password)) return { rule: 'too_long', reason: `Password should be at most ${maxPasswordBytes} bytes` }
  if (!isHashable(password)) {
    return { rule: 'invalid_unicode', reason: 'Password contains characters that are not valid Unicode' }
  }
  const normal = normalisePassword(password)
  const minLength = Math.max(1, policy.minLength) // no policy allows an empty password
  if ([...normal].length < minLength) {
    return { rule: 'too_short', reason: `Password should be at least ${minLength} characters` }
  }
  const lower = normal.toLowerCase()
  if ([email.toLowerCase(), emailKey(email), localPart(email).toLowerCase()].includes(lower)) {
    const reason = 'Password should not be the e-mail address or the part before its @-sign'
    return { rule: 'contains_email', reason }
  }
  if (policy.isCommon(lower)) return { rule: 'common', reason: 'Password is one of the most common ones' }
  return null
}

/**
 * Algorithm and cost of a stored hash, without salt and digest: `$argon2id$v=19$m=19456,t=2,p=1` of a PHC string,
 * `$2b$12` of a bcrypt hash. Hashes of one scheme take equally long to verify. Empty for other texts.
 */
export function passwordScheme(hash: string): string {
  // In PHC strings, parameters have an equals sign; salt and digest, which follow, have none.
  return /^(?:\$2[a-z]?\$\d+|\$[^$]+(?:\$[^$=]+=[^$]*)*)/.exec(hash)?.[0] ?? ''
}
