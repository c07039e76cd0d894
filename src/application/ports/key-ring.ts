import type { EmailKey } from '../../domain/email.ts'
import type { EventId, UserId } from '../../domain/ids.ts'
import type { TokenPurpose } from '../../domain/one-time-token.ts'

/** Everything derived from the deployment's master secret, a key of its own for each purpose. */
export interface KeyRing {
  /** SHA-256, base64url: what is stored of a token. */
  digest(token: string): string

  /** The token of an event: 43 characters, the same whenever it is asked for with the same arguments. */
  tokenFor(purpose: TokenPurpose, eventId: EventId, userId: UserId, fact: string): string

  /** Keyed hash under which a request for an address waits. */
  requestId(purpose: TokenPurpose, key: EmailKey): string

  /** Encrypts an address key; `requestId` is bound to it. */
  sealEmail(key: EmailKey, requestId: string): string

  /** `null` for what this deployment's secret did not seal. */
  unsealEmail(sealed: string, requestId: string): EmailKey | null
}
