import type { EmailKey } from '../../domain/email.ts'
import type { EventId, UserId } from '../../domain/ids.ts'
import type { RequestPurpose, TokenPurpose } from '../../domain/one-time-token.ts'

/** Separates the parts of a counter's key, one for each secret. It occurs nowhere else in the keys of counters. */
export const counterSeparator = '|'

/**
 * The keys derived from the deployment's master secret: one for each purpose. While the secret changes there are several secrets: the
 * first signs and seals, all open.
 */
export interface KeyRing {
  /** SHA-256 in base64url: stores keep this in place of the token. */
  digest(token: string): string

  /** The token of an event: 43 characters, always the same for the same arguments. */
  tokenFor(purpose: TokenPurpose, eventId: EventId, userId: UserId, fact: string): string

  /** The token of an event that some secret made earlier, known by its digest. `null`: none of the present secrets made it. */
  tokenOf(digest: string, purpose: TokenPurpose, eventId: EventId, userId: UserId, fact: string): string | null

  /** A keyed hash: the id of a waiting request for an address. */
  requestId(purpose: RequestPurpose, key: EmailKey): string

  /**
   * A keyed hash: the key of a counter of limits, so that no store holds the addresses of users and clients. With several secrets, the
   * hashes by each of them, joined by `counterSeparator`; `countersOfSecrets` counts in all of them.
   */
  counterKey(...subject: readonly string[]): string

  /** Encrypts an address key and binds it to `requestId`. */
  sealEmail(key: EmailKey, requestId: string): string

  /** `null` for a text that none of the secrets sealed. */
  unsealEmail(sealed: string, requestId: string): EmailKey | null

  /** Encrypts the content of a record that works once, which is JSON, and binds it to the key of the record. */
  sealRecord(content: object, key: string): string

  /** `null` for a text that none of the secrets sealed for this key. */
  unsealRecord(sealed: string, key: string): object | null

  /** Encrypts a secret of a second factor, and binds it to `binding`: its kind and its user. */
  sealFactor(plain: string, binding: string): string

  /** `null` for a text that none of the secrets sealed for this binding. */
  unsealFactor(sealed: string, binding: string): string | null
}
