import { type Email, emailKey, localPart } from './email.ts'

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

/**
 * Whether a password can have a hash. Half a surrogate pair, which JSON can spell and UTF-8 cannot, would be
 * hashed as U+FFFD, so that different passwords would be the same one.
 */
export function isHashable(password: string): boolean {
  return !isOversized(password) && !/\p{Surrogate}/u.test(password)
}

/** Why `password` cannot be `email`'s, in words for its chooser that never repeat it; `null` when it can. */
export function passwordObjection(password: string, email: Email, policy: PasswordPolicy): string | null {
  if (isOversized(password)) return `Password should be at most ${maxPasswordBytes} bytes`
  if (!isHashable(password)) return 'Password contains characters that are not valid Unicode'
  const normal = normalisePassword(password)
  const minLength = Math.max(1, policy.minLength) // an empty one is none, whatever a policy says
  if ([...normal].length < minLength) return `Password should be at least ${minLength} characters`
  const lower = normal.toLowerCase()
  if ([email.toLowerCase(), emailKey(email), localPart(email).toLowerCase()].includes(lower)) {
    return 'Password should not be the e-mail address or the part before its @-sign'
  }
  if (policy.isCommon(lower)) return 'Password is one of the most common ones'
  return null
}

/**
 * Algorithm and cost of a stored hash, without salt and digest: `$argon2id$v=19$m=19456,t=2,p=1` of a PHC string,
 * `$2b$12` of a bcrypt one. Hashes of one scheme take equally long to verify. Empty for what is neither.
 */
export function passwordScheme(hash: string): string {
  // PHC strings put parameters, which have an equals sign, before salt and digest, which have none.
  return /^(?:\$2[a-z]?\$\d+|\$[^$]+(?:\$[^$=]+=[^$]*)*)/.exec(hash)?.[0] ?? ''
}
